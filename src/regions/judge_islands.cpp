#include "regions/judge_islands.h"

#include <numeric>

#include "regions/shape_regions.h"

namespace depute {

Islands find_islands(const AtomGraph& graph, const std::vector<std::uint32_t>& region) {
  Islands islands{.of = islands_of(graph, region), .supported_nodes = {}, .nodes = {}};
  islands.supported_nodes.assign(graph.size(), 0);
  islands.nodes.start.assign(graph.size() + 1, 0);
  for (std::uint32_t atom = 0; atom < graph.size(); ++atom) {
    const std::uint32_t first = islands.of[atom];
    if (first == no_region) continue;
    const auto count = static_cast<std::uint32_t>(graph.nodes[atom].size());
    islands.nodes.start[first + 1] += count;
    if (graph.support[atom] == Support::Supported) islands.supported_nodes[first] += count;
  }
  std::vector<std::uint32_t>& start = islands.nodes.start;
  std::partial_sum(start.begin(), start.end(), start.begin());
  islands.nodes.items.resize(start.back());
  std::vector<std::uint32_t> next(start.begin(), start.end() - 1);
  for (std::uint32_t node = 0; node < graph.atom_of.size(); ++node) {
    const std::uint32_t first = islands.of[graph.atom_of[node]];
    if (first != no_region) islands.nodes.items[next[first]++] = node;
  }
  return islands;
}

std::optional<RefusedIsland> judge_island(const RegionOptions& options, std::uint32_t supported_nodes,
                                          std::span<const std::uint32_t> nodes) {
  RefusedIsland island{.supported_nodes = supported_nodes, .worth = {}};
  if (supported_nodes < options.min_nodes) return island;
  if (!options.worth) return std::nullopt;
  island.worth = options.worth(nodes);
  if (island.worth.gain >= island.worth.cost) return std::nullopt;
  return island;
}

NodeOutcome placement_of(const RefusedIsland& island) {
  return island.worth.gain < island.worth.cost ? NodeOutcome::NotWorth : NodeOutcome::TooSmall;
}

}  // namespace depute
