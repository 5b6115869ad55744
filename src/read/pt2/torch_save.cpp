#include "read/pt2/torch_save.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "read/quote.h"
#include "support/try.h"

namespace depute {
namespace {

using PickleKind = PickleValue::Kind;

std::optional<ScalarType> dtype_of_storage(std::string_view class_name) {
  static constexpr std::array<std::pair<std::string_view, ScalarType>, 12> types = {{
      {"torch.ByteStorage", ScalarType::U8},
      {"torch.CharStorage", ScalarType::I8},
      {"torch.ShortStorage", ScalarType::I16},
      {"torch.IntStorage", ScalarType::I32},
      {"torch.LongStorage", ScalarType::I64},
      {"torch.HalfStorage", ScalarType::F16},
      {"torch.FloatStorage", ScalarType::F32},
      {"torch.DoubleStorage", ScalarType::F64},
      {"torch.ComplexFloatStorage", ScalarType::C64},
      {"torch.ComplexDoubleStorage", ScalarType::C128},
      {"torch.BoolStorage", ScalarType::Bool},
      {"torch.BFloat16Storage", ScalarType::BF16},
  }};
  for (const auto& [name, type] : types) {
    if (name == class_name) return type;
  }
  return std::nullopt;
}

// Returns the type for "torch.uint16".
std::optional<ScalarType> dtype_of_global(std::string_view name) {
  for (int i = 0; i < scalar_type_count; ++i) {
    auto type = static_cast<ScalarType>(i);
    if (name.starts_with("torch.") && name.substr(6) == torch_name(type)) return type;
  }
  return std::nullopt;
}

// True for classes that behave like the plain tensor they hold.
bool is_plain_class(std::string_view name) {
  return name == "torch.Tensor" || name == "torch.nn.parameter.Parameter" ||
         name == "torch.nn.parameter.Buffer";
}

}  // namespace

Result<TorchSave> TorchSave::open(const Archive& archive, const ArchiveEntry& entry,
                                  const ReadLimits& limits) {
  TRY(Archive inner, archive.nested(entry));
  TorchSave file(std::move(inner));
  file.limits_ = limits;
  auto prefix = file.archive_.prefix_of("data.pkl");
  if (!prefix) return file.fail("there is no entry data.pkl: not a file of torch.save");
  file.prefix_ = *prefix;
  TRY_STATUS(file.check_byte_order());
  const ArchiveEntry& pickle = *file.archive_.find(file.prefix_ + "data.pkl");
  TRY(file.bytes_, file.archive_.read(pickle));
  TRY(file.pickle_, read_pickle(file.bytes_.bytes, file.archive_.place(pickle), limits,
                                file.archive_.budget().pickle_values_left));
  return file;
}

Status TorchSave::check_byte_order() const {
  const ArchiveEntry* entry = archive_.find(prefix_ + "byteorder");
  if (entry == nullptr) return {};
  TRY(EntryBytes bytes, archive_.read(*entry));
  std::string_view order(reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size());
  if (order == "little") return {};
  return fail(fmt::format("the byte order is {}; only little-endian files can be read", quote(order)));
}

Failure TorchSave::fail(std::string_view what) const {
  return failure("read_torch_save", archive_.name(), what);
}

Result<std::vector<std::pair<std::string_view, PickleId>>> TorchSave::dictionary() const {
  const PickleValue& root = pickle_[pickle_.root];
  bool is_ordered =
      root.kind == PickleKind::Call && pickle_.global_name(root.items[0]) == "collections.OrderedDict";
  if (root.kind != PickleKind::Dict && !is_ordered) return fail("expected a dictionary of tensors");
  const std::vector<PickleId>& items = is_ordered ? pickle_.entries_of(pickle_.root) : root.items;
  std::vector<std::pair<std::string_view, PickleId>> entries;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const PickleValue& key = pickle_[items[i]];
    if (key.kind != PickleKind::String) return fail("a key of the dictionary is not a string");
    entries.emplace_back(key.text(), items[i + 1]);
  }
  return entries;
}

Result<SavedTensor> TorchSave::tensor(PickleId id) {
  part_count_ = 0;
  return tensor(id, 0);
}

Result<SavedTensor> TorchSave::tensor(PickleId id, std::size_t depth) {
  if (depth > limits_.subclass_depth) {
    return beyond(limits_, &ReadLimits::subclass_depth, fail("tensor subclasses are nested too deeply"));
  }
  const PickleValue& value = pickle_[id];
  if (value.kind != PickleKind::Call) return fail("expected a tensor");
  return rebuild(pickle_.global_name(value.items[0]), pickle_[value.items[1]].items, depth);
}

Result<SavedTensor> TorchSave::rebuild(const std::string& function, std::span<const PickleId> args,
                                       std::size_t depth) {
  if (function == "torch._utils._rebuild_tensor_v2") return plain(args, false);
  if (function == "torch._utils._rebuild_tensor_v3") return plain(args, true);
  if (function == "torch._tensor._rebuild_from_type_v2") return from_type(args, depth);
  if (function == "torch._utils._rebuild_parameter" ||
      function == "torch._utils._rebuild_parameter_with_state") {
    if (args.empty()) return fail("a parameter without a tensor");
    return tensor(args[0], depth + 1);
  }
  return SavedTensor{
      .data = {}, .subclass_name = function.empty() ? "unknown" : function, .parts = {}, .name = {}};
}

// Reads (storage, offset, sizes, strides, requires_grad, hooks[, dtype]).
Result<SavedTensor> TorchSave::plain(std::span<const PickleId> args, bool has_dtype) {
  if (args.size() < (has_dtype ? 7 : 4)) return fail("a tensor with too few fields");
  SavedTensor tensor;
  ScalarType dtype{};
  TRY(tensor.data.storage, storage(args[0], has_dtype ? nullptr : &dtype));
  if (has_dtype) {
    auto type = dtype_of_global(pickle_.global_name(args[6]));
    if (!type) return fail(fmt::format("element type {} is not known", quote(pickle_.global_name(args[6]))));
    dtype = *type;
  }
  Dims sizes;
  Dims strides;
  TRY_STATUS(read_dims(args[2], sizes));
  TRY_STATUS(read_dims(args[3], strides));
  if (sizes.size() != strides.size()) return fail("a tensor with different numbers of sizes and strides");
  if (pickle_[args[1]].kind != PickleKind::Int) return fail("a tensor without an offset");
  tensor.data.offset = pickle_[args[1]].number;
  tensor.data.type = make_tensor(dtype, std::move(sizes), std::move(strides));
  if (!fits_storage(tensor.data)) return fail("a tensor exceeds its storage");
  return tensor;
}

// Reads (function, class, arguments of the function, state).
Result<SavedTensor> TorchSave::from_type(std::span<const PickleId> args, std::size_t depth) {
  if (args.size() != 4 || pickle_[args[2]].kind != PickleKind::Tuple)
    return fail("a tensor subclass with wrong fields");
  std::string function = pickle_.global_name(args[0]);
  std::string class_name = pickle_.global_name(args[1]);
  if (is_plain_class(class_name)) {
    return rebuild(function, pickle_[args[2]].items, depth + 1);
  }
  SavedTensor subclass{
      .data = {}, .subclass_name = class_name.empty() ? "unknown" : class_name, .parts = {}, .name = {}};
  if (function == "torch._utils._rebuild_wrapper_subclass") TRY_STATUS(add_parts(args[3], depth, subclass));
  return subclass;
}

// Adds the tensors among a wrapper's attributes. The state is a dictionary, or a pair of a dictionary and
// slots.
Status TorchSave::add_parts(PickleId state, std::size_t depth, SavedTensor& subclass) {
  if (pickle_[state].kind == PickleKind::Tuple && !pickle_[state].items.empty())
    state = pickle_[state].items[0];
  if (pickle_[state].kind != PickleKind::Dict)
    return fail("a tensor subclass without a dictionary of attributes");
  const std::vector<PickleId>& items = pickle_[state].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const PickleValue& key = pickle_[items[i]];
    const PickleValue& value = pickle_[items[i + 1]];
    if (key.kind != PickleKind::String || value.kind != PickleKind::Call) continue;
    if (!pickle_.global_name(value.items[0]).contains("._rebuild_")) continue;
    if (++part_count_ > limits_.subclass_parts) {
      return beyond(limits_, &ReadLimits::subclass_parts, fail("too many parts of a tensor subclass"));
    }
    TRY(SavedTensor part, tensor(items[i + 1], depth + 1));
    part.name = key.text();
    subclass.parts.push_back(std::move(part));
  }
  return {};
}

// Reads ('storage', class, key, device, elements). Sets `dtype` to the type of the storage's
// class; null if the tensor has its own type.
Result<std::shared_ptr<const Storage>> TorchSave::storage(PickleId id, ScalarType* dtype) {
  const PickleValue& value = pickle_[id];
  if (value.kind != PickleKind::Persistent) return fail("a tensor without a storage");
  const PickleValue& fields = pickle_[value.items[0]];
  if (fields.kind != PickleKind::Tuple || fields.items.size() != 5 ||
      pickle_[fields.items[0]].text() != "storage") {
    return fail("a storage with wrong fields");
  }
  if (dtype != nullptr) {
    std::string class_name = pickle_.global_name(fields.items[1]);
    auto type = dtype_of_storage(class_name);
    if (!type) return fail(fmt::format("storage class {} is not known", quote(class_name)));
    *dtype = *type;
  }
  std::string_view key = pickle_[fields.items[2]].text();
  if (auto found = storages_.find(key); found != storages_.end()) return found->second;
  const ArchiveEntry* entry = archive_.find(fmt::format("{}data/{}", prefix_, key));
  if (entry == nullptr) return fail(fmt::format("there is no entry for storage {}", quote(key)));
  TRY(std::shared_ptr<const Storage> storage, archive_.storage(*entry));
  storages_.emplace(key, storage);
  return storage;
}

Status TorchSave::read_dims(PickleId id, Dims& sizes) const {
  const PickleValue& value = pickle_[id];
  if (value.kind != PickleKind::Tuple && value.kind != PickleKind::List)
    return fail("sizes or strides are not a tuple");
  if (value.items.size() > max_rank) {
    return fail(fmt::format("{} dimensions; the limit max_rank is {}", value.items.size(), max_rank));
  }
  for (PickleId item : value.items) {
    const PickleValue& size = pickle_[item];
    if (size.kind != PickleKind::Int || size.number < 0)
      return fail("a size or stride is not a non-negative integer");
    sizes.push_back(size.number);
  }
  return {};
}

}  // namespace depute
