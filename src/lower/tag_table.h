// A checked PartitionResult: for each graph of a method, the tag of each node, and the constants and mutated
// buffers that move into each delegate.
//
// Rejects tagged outputs and inputs, tags without a spec, nodes of another method, nodes that write to
// arguments, and mutated buffers whose readers and writers have different tags.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "depute/backend/partitioner.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// The tags of one graph, numbered in the order of their first node.
struct GraphTags {
  static constexpr std::uint32_t none = 0xffffffff;

  const Graph* graph = nullptr;
  std::vector<Name> tags;                         // by number
  std::vector<std::uint32_t> node_tag;            // by node id, including the return; `none` without a tag
  std::vector<std::vector<const Node*>> members;  // by number, in node order
  std::vector<std::vector<std::uint32_t>> moved;  // by graph input: the tags that it moves into, ascending
  std::vector<std::uint32_t> moved_output;  // by graph output: the tag that takes this mutation, or none

  std::uint32_t tag_of(const Node& node) const { return node_tag[node.id()]; }
  // True if the value is a constant or mutated buffer that moves into this tag's delegate.
  bool moves(const Value& value, std::uint32_t tag) const;
};

struct TagTable {
  // The graphs that stay in the method: its own, then bodies in node order, depth first. Bodies of tagged
  // nodes are not included.
  std::vector<GraphTags> graphs;
};

Result<TagTable> read_tags(const Program& program, const Method& method, const PartitionResult& partitions);

}  // namespace depute
