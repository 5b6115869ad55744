#include "passes/table_chains.h"

#include <algorithm>
#include <utility>

namespace depute::xnnpack {
namespace {

// The runtime looks at ten nodes at a time, and a table counts as one of them.
constexpr std::size_t max_nodes = 9;

bool is_single(const XnnValue& value) {
  const auto count = TensorType{.dtype = value.dtype, .sizes = value.sizes}.static_numel();
  return value.constant && count == 1;
}

}  // namespace

// Returns the chain that a reader of the value would continue or start.
TableChains::Chain TableChains::chain_at(ValueId value) const {
  if (ends_[value].nodes > 0 && values_[value].readers == 1) return ends_[value];
  return {0, values_[value].is_small ? value : no_value};
}

std::optional<ValueId> TableChains::extend(ValueId operand, ValueId output, std::size_t nodes) {
  const Chain chain = chain_at(operand);
  if (chain.start == no_value) return std::nullopt;
  const bool is_too_long = chain.nodes > 0 && chain.nodes + nodes > max_nodes;
  ends_[output] = is_too_long ? Chain{nodes, operand} : Chain{chain.nodes + nodes, chain.start};
  return is_too_long ? std::optional(operand) : std::nullopt;
}

std::optional<ValueId> TableChains::add(NodeKind kind, std::span<const ValueId> inputs, ValueId output,
                                        bool is_clamped) {
  if (is_unary(kind)) return extend(inputs[0], output, 1);
  if (!is_binary(kind)) return std::nullopt;
  for (const auto& [operand, other] : {std::pair(inputs[0], inputs[1]), std::pair(inputs[1], inputs[0])}) {
    const Chain chain = chain_at(operand);
    const bool is_of_start = chain.nodes > 0 && other == chain.start;
    if (values_[other].is_single || is_of_start)
      return extend(operand, output, is_clamped ? 2 : 1);  // a clamp becomes a separate node
    if (chain.nodes > 0 && values_[other].is_value_0) return operand;
  }
  return std::nullopt;
}

void end_table_chains(XnnGraph& physical) {
  const auto is_small = [](const XnnValue& value) { return value.dtype == ScalarType::I8; };
  if (std::ranges::none_of(physical.values, is_small)) return;
  const GraphUses uses = find_uses(physical);
  std::vector<TableChains::ValueFacts> facts;
  facts.reserve(physical.values.size());
  for (ValueId id = 0; id < physical.values.size(); ++id) {
    const XnnValue& value = physical.values[id];
    facts.push_back({.is_small = is_small(value),
                     .is_value_0 = value.external_id == 0,
                     .is_single = is_single(value),
                     .readers = uses.count[id]});
  }
  TableChains chains(std::move(facts));
  std::vector<XnnNode> nodes;
  nodes.reserve(physical.nodes.size());
  for (XnnNode& node : physical.nodes) {
    if (const auto operand = chains.add(node.kind, node.inputs, node.output, node.is_clamped())) {
      const ValueId copy = physical.add_value_like(*operand, Dims(physical.values[*operand].sizes));
      nodes.push_back(plain_copy(physical, node, *operand));
      nodes.back().output = copy;
      for (ValueId& input : node.inputs)
        if (input == *operand) input = copy;
    }
    nodes.push_back(std::move(node));
  }
  physical.nodes = std::move(nodes);
}

}  // namespace depute::xnnpack
