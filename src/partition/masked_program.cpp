#include "partition/masked_program.h"

#include "depute/program/walk.h"
#include "ops/effects.h"
#include "ops/own_ops.h"
#include "support/check.h"

namespace depute {
MaskedProgram::MaskedProgram(const Program& program, const Method& method,
                             const std::function<bool(const Node&)>& masks)
    : program_(clone(program)) {
  Method* copy = nullptr;
  for (std::size_t i = 0; i < program.methods.size(); ++i) {
    if (program.methods[i].get() == &method) copy = program_.methods[i].get();
  }
  CHECK(copy != nullptr) << method.name.str();
  method_ = copy;
  const Effects effects(program);
  const std::vector<const Graph*> originals = graphs_of(method);
  const std::vector<Graph*> copies = graphs_of(*copy);
  for (std::size_t i = 0; i < originals.size(); ++i) add_graph(*originals[i], *copies[i], masks, effects);
}

// The copy has the nodes of the original in the same order.
void MaskedProgram::add_graph(const Graph& original, Graph& copy,
                              const std::function<bool(const Node&)>& masks, const Effects& effects) {
  for (std::size_t i = 0; i < original.inputs().size(); ++i)
    original_inputs_.emplace(copy.inputs()[i], original.inputs()[i]);
  Node* copied = copy.first();
  for (const Node& node : original.nodes()) {
    original_nodes_.emplace(copied, &node);
    if (masks(node)) {
      copied->graph().set_op(*copied, masked_symbol(effects.has_effects(node)));
      copied->tag = {};
    }
    copied = copied->next();
  }
}

Result<PartitionResult> MaskedProgram::unmask(PartitionResult result) const {
  PartitionResult original;
  original.partition_tags = std::move(result.partition_tags);
  original.plans = std::move(result.plans);
  for (const auto& [node, tag] : result.node_tags) {
    auto found = original_nodes_.find(node);
    if (found == original_nodes_.end())
      return failure("partition", tag.str(), "the partitioner tagged a node that is not in the method");
    if (is_masked(*node)) {
      return failure("partition", place_of(*found->second),
                     "is excluded by a pin, but the partitioner tagged it",
                     "this partitioner does not support pins");
    }
    original.node_tags.emplace_back(found->second, tag);
  }
  for (const auto& [value, tag] : result.constant_tags) {
    auto found = original_inputs_.find(value);
    if (found == original_inputs_.end())
      return failure("partition", tag.str(),
                     "the partitioner tagged a value that is not an input of the method");
    original.constant_tags.emplace_back(found->second, tag);
  }
  for (const Value* value : result.no_copy) {
    auto found = original_inputs_.find(value);
    if (found == original_inputs_.end())
      return failure("partition", method_->name.str(),
                     "no_copy contains a value that is not an input of the method");
    original.no_copy.push_back(found->second);
  }
  for (auto& [node, verdict] : result.verdicts) {
    auto found = original_nodes_.find(node);
    if (found == original_nodes_.end())
      return failure("partition", method_->name.str(),
                     "the partitioner returned a reason for a node that is not in the method");
    original.verdicts.emplace_back(found->second, std::move(verdict));
  }
  return original;
}

}  // namespace depute
