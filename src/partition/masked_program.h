// A copy of a program in which some nodes of a method cannot be recognised, for partitioners that look at
// programs by themselves; and the way back from the copy's nodes to the original's.
#pragma once

#include <functional>
#include <unordered_map>

#include "depute/partition_result.h"
#include "depute/result.h"

namespace depute {

class Effects;

class MaskedProgram {
 public:
  // Nodes for which `masks` says yes have the op depute.masked, or depute.masked_effect where they have
  // effects (own_ops.h), and no tag in the copy.
  MaskedProgram(const Program& program, const Method& method, const std::function<bool(const Node&)>& masks);

  const Program& program() const { return program_; }
  const Method& method() const { return *method_; }

  // The result for the copy as one for the original. An error if it takes a masked node, or speaks
  // of what is not in the copy.
  Result<PartitionResult> unmask(PartitionResult result) const;

 private:
  void add_graph(const Graph& original, Graph& copy, const std::function<bool(const Node&)>& masks,
                 const Effects& effects);

  Program program_;
  const Method* method_ = nullptr;
  std::unordered_map<const Node*, const Node*> original_nodes_;     // by the copy's
  std::unordered_map<const Value*, const Value*> original_inputs_;  // likewise, of all graphs
};

}  // namespace depute
