// A copy of a program in which some nodes cannot be recognized, for partitioners that inspect programs
// themselves. unmask() maps the copy's nodes back to the original.
#pragma once

#include <functional>
#include <unordered_map>

#include "depute/backend/partitioner.h"
#include "depute/program/result.h"

namespace depute {

class Effects;

class MaskedProgram {
 public:
  // In the copy, nodes for which `masks` is true have no tag and the op depute.masked, or
  // depute.masked_effect if they have effects (own_ops.h).
  MaskedProgram(const Program& program, const Method& method, const std::function<bool(const Node&)>& masks);

  const Program& program() const { return program_; }
  const Method& method() const { return *method_; }

  // Converts a result for the copy to one for the original. Fails if the result takes a masked node or refers
  // to objects outside the copy.
  Result<PartitionResult> unmask(PartitionResult result) const;

 private:
  void add_graph(const Graph& original, Graph& copy, const std::function<bool(const Node&)>& masks,
                 const Effects& effects);

  Program program_;
  const Method* method_ = nullptr;
  std::unordered_map<const Node*, const Node*> original_nodes_;     // copy -> original
  std::unordered_map<const Value*, const Value*> original_inputs_;  // copy -> original, inputs of all graphs
};

}  // namespace depute
