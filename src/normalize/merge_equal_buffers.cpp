// Merges buffers of a method that have equal contents and are never written. Models register masks and tables
// of angles again in each layer; repeated calls on them can be merged only once they are one buffer (see
// merge_repeated_calls.cpp).
//
//   layers.0.mask, layers.1.mask: bool[64, 64], equal      uses of layers.1.mask become uses of layers.0.mask
//
// Parameters keep their names, by which users assign them to files; equal bytes are written once anyway.
#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/data.h"
#include "depute/program/hash.h"
#include "normalize/passes.h"

namespace depute {
namespace {

// Number of bytes to hash; enough to distinguish most buffers without reading large ones as a whole.
constexpr std::size_t look_bytes = 4096;

using Names = std::unordered_set<Name>;
Names written_names(const Program& program) {
  Names names;
  for (const auto& method : program.methods)
    for (const OutputSpec& output : method->outputs)
      if (output.mutates_data()) names.insert(output.target);
  return names;
}

// Returns the bytes of a buffer that may equal another's; nullopt for written, strided or lazy ones.
std::optional<std::span<const std::byte>> bytes_of(const Program& program, const Names& written,
                                                   const InputSpec& spec) {
  if (spec.kind != InputSpec::Kind::Buffer || written.contains(spec.target)) return std::nullopt;
  const TensorData& data = program.data.at(spec.target);
  if (!data.is_dense() || data.storage->is_lazy() || data.storage->is_elided()) return std::nullopt;
  return data.dense_bytes();
}

void merge(const Program& program, const Names& written, Method& method) {
  std::unordered_multimap<Hash128, Value*> seen;
  for (Value* input : method.graph->inputs()) {
    const auto bytes = bytes_of(program, written, method.inputs[input->index()]);
    if (!bytes || !input->has_uses()) continue;
    const Hash128 look = hash128(bytes->first(std::min(bytes->size(), look_bytes)));
    const auto [begin, end] = seen.equal_range(look);
    const auto equal = std::find_if(begin, end, [&](const auto& entry) {
      const Value& other = *entry.second;
      return other.type() == input->type() &&
             std::ranges::equal(*bytes_of(program, written, method.inputs[other.index()]), *bytes);
    });
    if (equal == end) {
      seen.emplace(look, input);
    } else {
      method.graph->replace_uses(*input, equal->second);
    }
  }
}

}  // namespace

// Afterwards no two buffers that a method only reads have the same elements.
Status merge_equal_buffers(Program& program, const NormalizeOptions&) {
  const Names written = written_names(program);
  for (auto& method : program.methods) merge(program, written, *method);
  return {};
}

}  // namespace depute
