// A buffer that one method writes is not a constant in the other methods:
//
//   method encode(%count = buffer "count") {         method decode(%count = buffer "count", %x) {
//     %n = aten.add.Tensor(%count, 1)                  %y = aten.mul.Tensor(%x, %count)
//     store buffer "count" = %n                        store buffer "count" = %count     <- added here
//
// Two names for the same bytes are harmless while they are not written. In PyTorch a write through one name
// is visible through the other. Here each key has its own memory, so such a program is rejected. (A buffer
// registered under two names is one input in torch.export's programs; its second name is unused.)
#include "normalize/share_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "normalize/pass_error.h"
#include "support/try.h"

namespace depute {
namespace {

// The kind of store to each key.
using Stores = std::unordered_map<Name, OutputSpec::Kind>;

Stores stores_of(const Program& program) {
  Stores stores;
  for (const auto& method : program.methods) {
    for (const OutputSpec& output : method->outputs) {
      if (output.mutates_data()) stores.emplace(output.target, output.kind);
    }
  }
  return stores;
}

Status store_what_is_read(Method& method, const Stores& stores) {
  std::vector<Argument> values;
  std::vector<OutputSpec> specs;
  std::unordered_set<Name> seen;
  for (Value* input : method.graph->inputs()) {
    const InputSpec& spec = method.inputs[input->index()];
    auto store = spec.has_data() ? stores.find(spec.target) : stores.end();
    if (store == stores.end()) continue;
    if (!seen.insert(spec.target).second) {
      return pass_error(fmt::format("{}, buffer '{}'", method.name.str(), spec.target.str()),
                        "is mutated, but is passed as several inputs");
    }
    if (!input->has_uses() || is_mutated(method, spec)) continue;
    values.push_back(Argument::of(input));
    specs.push_back({.kind = store->second, .target = spec.target});
  }
  if (values.empty()) return {};
  values.insert(values.end(), method.graph->outputs().begin(), method.graph->outputs().end());
  method.outputs.insert(method.outputs.begin(), specs.begin(), specs.end());
  method.graph->set_outputs(values);
  return {};
}

// The range of bytes of a constant in its storage.
struct Extent {
  Name key;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Extent extent_of(Name key, const TensorData& data) {
  std::int64_t last = data.offset;
  const Dims strides = data.is_dense() ? contiguous_strides(data.type.sizes) : data.type.strides;
  for (std::size_t i = 0; i < data.type.rank(); ++i) {
    const std::int64_t size = data.type.sizes[i].value();
    if (size == 0) return {key, 0, 0};
    last += (size - 1) * strides[i].value();
  }
  const std::uint64_t item = item_size(data.type.dtype);
  return {key, static_cast<std::uint64_t>(data.offset) * item, static_cast<std::uint64_t>(last + 1) * item};
}

// Returns the constants that some method uses, by storage.
std::unordered_map<const Storage*, std::vector<Extent>> used_extents(const Program& program) {
  std::unordered_map<Name, bool> is_used;
  for (const auto& method : program.methods) {
    for (const Value* input : method->graph->inputs()) {
      const InputSpec& spec = method->inputs[input->index()];
      if (spec.has_data()) is_used[spec.target] |= input->has_uses() || is_mutated(*method, spec);
    }
  }
  std::unordered_map<const Storage*, std::vector<Extent>> extents;
  for (const auto& [key, data] : program.data) {
    if (is_used[key]) extents[data.storage.get()].push_back(extent_of(key, data));
  }
  return extents;
}

Status check_memory(const Program& program, const Stores& stores) {
  auto extents = used_extents(program);
  for (const auto& [key, data] : program.data) {
    if (!stores.contains(key)) continue;
    const Extent own = extent_of(key, data);
    for (const Extent& other : extents[data.storage.get()]) {
      if (other.key == key || other.begin >= own.end || own.begin >= other.end) continue;
      return pass_error(fmt::format("buffer '{}'", key.str()),
                        fmt::format("is mutated, but shares memory with '{}'", other.key.str()),
                        "give each of them a tensor of its own in the model (.clone())");
    }
  }
  return {};
}

}  // namespace

Status share_state(Program& program) {
  Stores stores = stores_of(program);
  if (stores.empty()) return {};
  for (auto& method : program.methods) TRY_STATUS(store_what_is_read(*method, stores));
  return check_memory(program, stores);
}

}  // namespace depute
