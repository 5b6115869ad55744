// Bundled programs for depute/bundle.py: a program with test cases, as bytes.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind_data.h"
#include "depute/tools/bundle.h"

namespace depute::python {
namespace {

// method, inputs, expected outputs
using CaseRow = std::tuple<std::string, nb::list, nb::list>;

std::vector<TestCase> cases_of(const std::vector<CaseRow>& rows) {
  std::vector<TestCase> cases;
  for (const auto& [method, inputs, expected] : rows)
    cases.push_back({.method = method, .inputs = contents_of(inputs), .expected = contents_of(expected)});
  return cases;
}

// Returns the .bpte, and its .ptd files by path.
nb::tuple write(const Executable& executable, const std::vector<CaseRow>& rows, bool has_reference,
                const std::string& name) {
  std::vector<TestCase> cases = cases_of(rows);
  Result<PteFile> file = [&]() -> Result<PteFile> {
    nb::gil_scoped_release release;
    if (has_reference) {
      DEPUTE_TRY(cases, with_expected_outputs(executable, std::move(cases)));
    }
    return write_bundle(executable, cases, name);
  }();
  const PteFile written = take(std::move(file));
  nb::dict external;
  for (const auto& [path, content] : written.external) external[path.c_str()] = bytes_of(content);
  return nb::make_tuple(bytes_of(written.pte), external);
}

nb::bytes bundle(const nb::bytes& pte, const std::vector<CaseRow>& rows, const std::string& name) {
  const std::span content(static_cast<const std::byte*>(pte.data()), pte.size());
  const std::vector<TestCase> cases = cases_of(rows);
  Result<std::vector<std::byte>> bytes = [&] {
    nb::gil_scoped_release release;
    return bundle_program(content, cases, name);
  }();
  return bytes_of(take(std::move(bytes)));
}

}  // namespace

void bind_bundle(nb::module_& module) {
  module.def("write_bundle", &write);
  module.def("bundle_program", &bundle);
}

}  // namespace depute::python
