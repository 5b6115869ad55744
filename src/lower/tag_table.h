// A PartitionResult read and checked: per graph of a method which node has which tag, and which constants and
// mutated buffers move into which delegate.
//
// Refuses what no delegate can be made of: tagged outputs and inputs, tags without a spec, nodes of another
// method, a mutated buffer whose readers and writer lie in different places, nodes that write to arguments.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "depute/partitioner.h"
#include "depute/program.h"
#include "depute/result.h"

namespace depute {

// The tags of one graph, numbered in the order of their first node.
struct GraphTags {
  static constexpr std::uint32_t none = 0xffffffff;

  const Graph* graph = nullptr;
  std::vector<Symbol> tags;                       // by number
  std::vector<std::uint32_t> node_tag;            // by node id, the return included; `none` without a tag
  std::vector<std::vector<const Node*>> members;  // by number, in node order
  std::vector<std::vector<std::uint32_t>> moved;  // by graph input: the tags that it moves into, ascending
  std::vector<std::uint32_t> moved_output;  // by graph output: the tag that takes this mutation, or none

  std::uint32_t tag_of(const Node& node) const { return node_tag[node.id()]; }
  // True when the value is a constant, or a mutated buffer, that lies inside the delegate of this tag.
  bool moves(const Value& value, std::uint32_t tag) const;
};

struct TagTable {
  // The graphs that stay in the method: its own, then bodies in node order, depth first. Bodies of a node
  // that is taken whole are not among them.
  std::vector<GraphTags> graphs;
};

Result<TagTable> read_tags(const Program& program, const Method& method, const PartitionResult& partitions);

}  // namespace depute
