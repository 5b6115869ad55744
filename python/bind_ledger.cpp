// The ledger of `depute size` for depute/ledger.py: the use of each byte of a .pte or .ptd file.
#include <nanobind/stl/string.h>

#include "bind.h"
#include "depute/program/data.h"
#include "depute/tools/byte_ledger.h"

namespace depute::python {
namespace {

ByteLedger ledger_of_bytes(const nb::bytes& bytes, const std::string& name) {
  std::span<const std::byte> content(static_cast<const std::byte*>(bytes.data()), bytes.size());
  Result<ByteLedger> ledger = [&] {
    nb::gil_scoped_release release;
    return byte_ledger(content, name, make_registry());
  }();
  return take(std::move(ledger));
}

// The file is mapped, not read.
ByteLedger ledger_of_file(const std::string& path) {
  Result<ByteLedger> ledger = [&]() -> Result<ByteLedger> {
    nb::gil_scoped_release release;
    DEPUTE_TRY(std::shared_ptr<const Storage> content, storage_of_file(path));
    return byte_ledger(content->bytes(), path, make_registry());
  }();
  return take(std::move(ledger));
}

}  // namespace

void bind_ledger(nb::module_& module) {
  using WithoutGil = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<ByteLedger>(module, "ByteLedger", "The use of each byte of a file.")
      .def("text", &ledger_text, nb::arg("top"), WithoutGil())
      .def("json", &ledger_json, WithoutGil());
  module.def("ledger_of_bytes", &ledger_of_bytes);
  module.def("ledger_of_file", &ledger_of_file);
}

}  // namespace depute::python
