// A graph of a method, and the answers of backends about its nodes, in the form that region growing uses.
#pragma once

#include <cstdint>
#include <vector>

#include "depute/backend/proposal.h"
#include "ir/node_order.h"
#include "ops/effects.h"
#include "regions/region_graph.h"

namespace depute {

// The answers of one backend about the nodes of a graph, by node number.
struct GraphAnswers {
  std::vector<Support> support;
  std::vector<std::uint64_t> gain;
  std::vector<Verdict> refusals;
  std::vector<std::uint32_t> refusal_of;  // by unsupported node: index into `refusals`
  bool judges_worth = false;              // the backend may refuse islands that are not worth a delegate
};

GraphAnswers ask(const Proposal& proposal, const Graph& graph);

// The edges and values of a graph, without support and groups.
struct NumberedGraph {
  std::vector<const Node*> nodes;  // by number
  NodeOrder order;                 // node -> number
  RegionGraph regions;
};

// Numbers the nodes in graph order. Nodes whose effects must stay in order depend on each other.
NumberedGraph number_graph(const Graph& graph, const EffectOrder& effects = {});

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b);

}  // namespace depute
