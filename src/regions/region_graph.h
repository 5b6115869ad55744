// The graph that region growing works on: nodes and edges are numbers, without reference to the program.
//
//   x -> conv -> tan -> relu          RegionGraph graph;
//                                     auto conv = graph.add_node(Support::Supported, {});
//                                     auto tan = graph.add_node(Support::Unsupported, {conv});
//                                     auto relu = graph.add_node(Support::Supported, {tan});
//
// Nodes are numbered in topological order: every edge leads from a smaller to a larger number. Adjacency is
// stored as compressed rows (Csr), so a pass over a million nodes reads memory sequentially.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "depute/backend/region_options.h"

namespace depute {

inline constexpr std::uint32_t no_region = 0xFFFFFFFF;

// Rows of numbers in one array: row i is items[start[i]] up to items[start[i + 1]].
struct Csr {
  std::vector<std::uint32_t> start{0};
  std::vector<std::uint32_t> items;

  std::size_t size() const { return start.size() - 1; }
  std::span<const std::uint32_t> operator[](std::size_t row) const {
    return {items.data() + start[row], items.data() + start[row + 1]};
  }
  void add_row(std::span<const std::uint32_t> row) {
    items.insert(items.end(), row.begin(), row.end());
    start.push_back(static_cast<std::uint32_t>(items.size()));
  }

  friend bool operator==(const Csr&, const Csr&) = default;
};

// Returns the reversed edges; rows are in ascending order.
Csr transposed(const Csr& rows);

struct RegionGraph {
  std::vector<Support> support;  // support of each node on its own
  Csr preds;                     // by node: the nodes it reads or must follow
  Csr groups;  // sets of nodes that a backend takes whole, even if it does not support the nodes alone
  std::vector<std::uint32_t> outputs;  // nodes whose value the program returns
  // size of each node's value in bytes; if empty, all values count the same
  std::vector<std::uint64_t> bytes;

  std::uint32_t size() const { return static_cast<std::uint32_t>(support.size()); }

  // add_node() and add_group() return the new number. `inputs` are nodes added before.
  std::uint32_t add_node(Support kind, std::span<const std::uint32_t> inputs) {
    support.push_back(kind);
    preds.add_row(inputs);
    return size() - 1;
  }
  std::uint32_t add_node(Support kind, std::initializer_list<std::uint32_t> inputs) {
    return add_node(kind, std::span(inputs.begin(), inputs.size()));
  }
  std::uint32_t add_group(std::span<const std::uint32_t> nodes) {
    groups.add_row(nodes);
    return static_cast<std::uint32_t>(groups.size()) - 1;
  }
  std::uint32_t add_group(std::initializer_list<std::uint32_t> nodes) {
    return add_group(std::span(nodes.begin(), nodes.size()));
  }
};

}  // namespace depute
