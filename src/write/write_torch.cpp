// The pickle of a value: opcodes of a stack machine, version 2. Each tensor is rebuilt by torch from its storage.
//
//   [2.5]   ->   PROTO 2, EMPTY_LIST, MARK, BINFLOAT 2.5, APPENDS, STOP
#include "write/write_torch.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <memory>

#include "support/output.h"
#include "support/try.h"
#include "write/zip_writer.h"

namespace depute {
namespace {

class Pickler {
 public:
  std::string pickle(const TorchValue& value) {
    text_ = "\x80\x02";
    add(value);
    return std::move(text_) + '.';
  }
  const std::vector<std::shared_ptr<const Storage>>& storages() const { return storages_; }

 private:
  void add(const TorchValue& value) {
    std::visit([&](const auto& each) { add(each); }, value.value);
  }
  void add(std::nullptr_t) { text_ += 'N'; }
  void add(bool value) { text_ += value ? '\x88' : '\x89'; }
  void add(std::int64_t value) {
    text_ += "\x8a\x08";
    number(std::bit_cast<std::uint64_t>(value), 8);
  }
  void add(double value) {  // the only big-endian number
    const auto bits = std::bit_cast<std::uint64_t>(value);
    text_ += 'G';
    for (int shift = 56; shift >= 0; shift -= 8) text_ += static_cast<char>(bits >> shift);
  }
  void add(const std::string& value) {
    text_ += 'X';
    number(value.size(), 4);
    text_ += value;
  }
  void add(const TorchValue::List& list) {
    text_ += "](";
    for (const TorchValue& each : list) add(each);
    text_ += 'e';
  }
  void add(const TorchValue::Dict& dict) {
    text_ += "}(";
    for (const auto& [key, each] : dict) {
      add(key);
      add(each);
    }
    text_ += 'u';
  }
  void add(const TensorData& data) {
    global("torch._utils", "_rebuild_tensor_v3");
    text_ += '(';
    persistent_id(*data.storage, storage_number(data));
    add(data.offset);
    add(data.type.sizes);
    add(data.type.is_contiguous() ? contiguous_strides(data.type.sizes) : data.type.strides);
    add(false);  // requires_grad
    no_hooks();
    global("torch", torch_name(data.type.dtype));
    text_ += "tR";
  }
  void add(const TorchValue::Parameter& parameter) {
    global("torch._utils", "_rebuild_parameter");
    text_ += '(';
    add(parameter.data);
    add(false);  // requires_grad
    no_hooks();
    text_ += "tR";
  }
  void add(const Dims& dims) {
    text_ += '(';
    for (const SymInt& dim : dims) add(dim.value());
    text_ += 't';
  }

  void persistent_id(const Storage& storage, std::size_t key) {
    text_ += '(';
    add(std::string("storage"));
    global("torch.storage", "UntypedStorage");
    add(std::to_string(key));
    add(std::string("cpu"));
    add(static_cast<std::int64_t>(storage.size()));
    text_ += "tQ";
  }
  void no_hooks() {
    global("collections", "OrderedDict");
    text_ += ")R";
  }
  void global(std::string_view module, std::string_view name) {
    text_ += fmt::format("c{}\n{}\n", module, name);
  }
  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i));
  }

  std::size_t storage_number(const TensorData& data) {
    const auto [entry, is_new] = numbers_.try_emplace(data.storage.get(), storages_.size());
    if (is_new) storages_.push_back(data.storage);
    return entry->second;
  }

  std::string text_;
  std::vector<std::shared_ptr<const Storage>> storages_;
  std::map<const Storage*, std::size_t> numbers_;
};

}  // namespace

Result<std::vector<std::byte>> torch_save(const TorchValue& value) {
  Pickler pickler;
  const std::string pickle = pickler.pickle(value);
  std::vector<std::byte> bytes;
  OutputBytes output(bytes);
  ZipWriter zip(output);
  TRY_STATUS(zip.add("archive/data.pkl", pickle));
  TRY_STATUS(zip.add("archive/byteorder", "little"));
  for (std::size_t i = 0; i < pickler.storages().size(); ++i)
    TRY_STATUS(zip.add(fmt::format("archive/data/{}", i), pickler.storages()[i]->bytes()));
  TRY_STATUS(zip.add("archive/version", "3\n"));
  TRY_STATUS(zip.finish());
  TRY_STATUS(output.commit());
  return bytes;
}

}  // namespace depute
