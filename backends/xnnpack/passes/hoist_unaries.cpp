// The gates of a recurrent cell are slices of one sum, and most of them use the same function. The function
// is computed once for the whole sum, which is then sliced.
//
//   Slice(x, 0..8), Sigmoid; Slice(x, 8..16), Sigmoid; Slice(x, 16..24), Tanh
//     ->  Sigmoid(x); Slice(., 0..8); Slice(., 8..16); Slice(x, 16..24), Tanh
//
// A node costs as much as some hundred elements, so a few unused elements are cheaper than another node.
#include <algorithm>
#include <map>
#include <utility>

#include "passes/simplify.h"

namespace depute::xnnpack {
namespace {

// Number of elements that take as long as a node: 0.07 us at 0.1 ns per element.
constexpr std::int64_t node_elements = 700;

// A unary node that reads a slice: indices of both nodes.
struct Reader {
  std::size_t slice;
  std::size_t unary;
};

class UnaryHoister {
 public:
  explicit UnaryHoister(XnnGraph& graph) : graph_(graph), uses_(find_uses(graph)) {}

  void run() {
    std::map<std::pair<ValueId, NodeKind>, std::vector<Reader>> readers;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const XnnNode& node = graph_.nodes[i];
      if (!is_candidate(node)) continue;
      const std::uint32_t slice = uses_.producer[node.inputs[0]];
      readers[{graph_.nodes[slice].inputs[0], node.kind}].push_back({slice, i});
    }
    for (const auto& [key, found] : readers)
      if (found.size() > 1 && pays(key.first, found)) hoist(key.first, found);
  }

 private:
  std::optional<std::int64_t> count_of(ValueId id) const {
    const XnnValue& value = graph_.values[id];
    return TensorType{.dtype = value.dtype, .sizes = value.sizes}.static_numel();
  }

  // True for a unary node without parameters that is the only reader of a slice and works on floats.
  bool is_candidate(const XnnNode& node) const {
    if (!is_unary(node.kind) || !std::holds_alternative<std::monostate>(node.params) || node.is_clamped())
      return false;
    const ValueId input = node.inputs[0];
    const std::uint32_t producer = uses_.producer[input];
    if (producer == no_value || graph_.nodes[producer].kind != NodeKind::Slice || uses_.count[input] != 1)
      return false;
    const ScalarType dtype = graph_.values[input].dtype;
    return is_floating(dtype) && graph_.values[node.output].dtype == dtype;
  }

  bool pays(ValueId source, std::span<const Reader> readers) const {
    std::optional<std::int64_t> unread = count_of(source);
    if (!unread) return false;
    for (const Reader& reader : readers) {
      const std::optional<std::int64_t> read = count_of(graph_.nodes[reader.unary].output);
      if (!read) return false;
      *unread -= *read;
    }
    return *unread <= node_elements * static_cast<std::int64_t>(readers.size() - 1);
  }

  // The first slice's position is before all readers.
  void hoist(ValueId source, std::span<const Reader> readers) {
    const ValueId whole = graph_.add_value_like(source, Dims(graph_.values[source].sizes));
    XnnNode unary =
        node_for(graph_.nodes[readers[0].unary], graph_.nodes[readers[0].unary].kind, {source}, whole);
    for (const Reader& reader : readers) {
      XnnNode& slice = graph_.nodes[reader.slice];
      XnnNode& node = graph_.nodes[reader.unary];
      merge_handles(unary.handles, node.handles);
      slice.inputs[0] = whole;
      slice.output = node.output;
      node = std::exchange(slice, {});
    }
    const auto first = std::ranges::min_element(readers, {}, &Reader::slice);
    graph_.nodes[first->slice] = std::move(unary);
  }

  XnnGraph& graph_;
  GraphUses uses_;
};

}  // namespace

void hoist_unaries(XnnGraph& graph) {
  UnaryHoister(graph).run();
  remove_unused(graph);
}

}  // namespace depute::xnnpack
