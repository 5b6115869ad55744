// A graph of a method and what backends say about its nodes, in the numbers that region growing works on.
#pragma once

#include <cstdint>
#include <vector>

#include "depute/proposal.h"
#include "ir/node_order.h"
#include "ops/effects.h"
#include "regions/region_graph.h"

namespace depute {

// What one backend says about the nodes of a graph, by number.
struct GraphAnswers {
  std::vector<Support> support;
  std::vector<std::uint64_t> gain;
  std::vector<Verdict> refusals;
  std::vector<std::uint32_t> refusal_of;  // per node: its place among the refusals, if it is unsupported
  bool judges_worth = false;              // some piece may not be worth a delegate
};

GraphAnswers ask(const Proposal& proposal, const Graph& graph);

// A graph's edges and values, without support and groups.
struct NumberedGraph {
  std::vector<const Node*> nodes;  // by number
  NodeOrder order;                 // the numbers of nodes
  RegionGraph regions;
};

// Nodes are numbered in graph order. `with_inputs`: also which inputs of the graph each reads.
// Nodes with effects that must stay in order depend on each other, too.
NumberedGraph number_graph(const Graph& graph, bool with_inputs, const EffectOrder& effects = {});

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b);

}  // namespace depute
