// Rotary position embeddings multiply by cosine and sine tables in which both halves of a row are equal. The
// file stores one half; the program concatenates the halves once per call for all layers.
//
//   Multiply(x, cos[1, 64, 128])  ->  Concat(half, half) with half[1, 64, 64]; Multiply(x, .)
#include <cstring>

#include "passes/simplify.h"

namespace depute::xnnpack {
namespace {

// A smaller table is not worth a node: it would save less than 8 KB (about 0.5 us per call). With a single
// reader the product would take twice as long.
constexpr std::int64_t min_elements = 4096;
constexpr std::int64_t max_elements = 1 << 22;  // the table is loaded for comparison: 16 MB
constexpr std::uint32_t min_readers = 2;

// True if both halves of every row are equal.
bool has_equal_halves(const Constant& table) {
  const Dims sizes = table.sizes();
  if (table.dtype() != ScalarType::F32 || table.is_quantized()) return false;
  if (sizes.empty() || sizes.back().value() % 2 != 0) return false;
  if (numel(table) < min_elements || numel(table) > max_elements) return false;
  const std::shared_ptr<const Storage> storage = table.storage();
  if (storage->is_elided()) return false;
  const Bytes bytes(storage);
  const std::size_t half = static_cast<std::size_t>(sizes.back().value()) / 2 * sizeof(float);
  for (auto rows = bytes.view(); !rows.empty(); rows = rows.subspan(2 * half))
    if (std::memcmp(rows.data(), rows.data() + half, half) != 0) return false;
  return true;
}

Constant first_half(const Constant& table) {
  Dims sizes = table.sizes();
  const auto row = static_cast<std::ptrdiff_t>(sizes.back().value());
  sizes.back() = row / 2;
  return computed("half", {table}, sizes, [row](std::span<const std::vector<float>> in) {
    std::vector<float> halves;
    halves.reserve(in[0].size() / 2);
    for (auto from = in[0].begin(); from != in[0].end(); from += row)
      halves.insert(halves.end(), from, from + row / 2);
    return halves;
  });
}

}  // namespace

void halve_tables(XnnGraph& graph) {
  struct Readers {
    std::uint32_t count = 0;
    std::uint32_t first = 0;   // index of the first node
    bool are_products = true;  // all readers are Multiply
  };
  std::vector<Readers> readers(graph.values.size());
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId input : graph.nodes[i].inputs) {
      if (input == no_value || !graph.values[input].constant) continue;
      Readers& of_input = readers[input];
      if (of_input.count++ == 0) of_input.first = i;
      of_input.are_products &= graph.nodes[i].kind == NodeKind::Multiply;
    }
  }
  std::vector<ValueId> whole(readers.size(), no_value);  // by value: the replacement of a constant
  std::vector<XnnNode> nodes;
  for (ValueId id = 0; id < readers.size(); ++id) {
    const bool is_table = readers[id].count >= min_readers && readers[id].are_products;
    if (!is_table || !has_equal_halves(*graph.values[id].constant)) continue;
    const ValueId half = graph.add_constant(first_half(*graph.values[id].constant));
    whole[id] = graph.add_value(ScalarType::F32, graph.values[id].constant->sizes());
    const auto last = static_cast<std::uint32_t>(graph.values[whole[id]].sizes.size() - 1);
    nodes.push_back(
        node_for(graph.nodes[readers[id].first], NodeKind::Concat, {half, half}, whole[id], Axis{last}));
  }
  if (nodes.empty()) return;
  for (XnnNode& node : graph.nodes) {
    for (ValueId& input : node.inputs)
      if (input < whole.size() && whole[input] != no_value) input = whole[input];
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace depute::xnnpack
