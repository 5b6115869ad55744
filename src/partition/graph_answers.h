// A graph of a method and what backends say about its nodes, in the numbers that region growing works on.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/proposal.h"

namespace depute {

// What one backend says about the nodes of a graph, by number.
struct GraphAnswers {
  std::vector<Support> support;
  std::vector<std::uint64_t> gain;
  std::vector<Verdict> refusal;  // of unsupported nodes
  bool judges_worth = false;     // some piece may not be worth a delegate
};

GraphAnswers ask(const Proposal& proposal, const std::vector<const Node*>& nodes);

// The graph's edges and values, without support and groups. Its nodes must be numbered (Node::scratch).
// `with_inputs`: also which inputs of the graph each node reads.
RegionGraph region_graph(const Graph& graph, bool with_inputs);

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b);

}  // namespace depute
