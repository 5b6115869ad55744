// How region growing scales: time by shape of the graph, number of nodes and share of unsupported nodes.
//
//   grow_regions_bench --benchmark_filter='window/settled/40000'
//
// Counters: regions found, values that cross their borders, and nodes per second.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "regions/grow_regions.h"
#include "tests/unit/regions/grow_regions_testing.h"

namespace depute {
namespace {

// Draws the kind of each node; the same sequence in every run.
class Kinds {
 public:
  explicit Kinds(int unsupported_percent) : percent_(unsupported_percent) {}
  Support next() {
    return static_cast<int>(random_() % 100) < percent_ ? Support::Unsupported : Support::Supported;
  }

 private:
  std::mt19937 random_{1};
  int percent_;
};

RegionGraph chain(std::uint32_t nodes, int unsupported_percent) {
  Kinds kinds(unsupported_percent);
  RegionGraph graph;
  graph.add_node(kinds.next(), {});
  for (std::uint32_t node = 1; node < nodes; ++node) graph.add_node(kinds.next(), {node - 1});
  return graph;
}

// Each node reads two of the 64 before it.
RegionGraph window(std::uint32_t nodes, int unsupported_percent) {
  Kinds kinds(unsupported_percent);
  std::mt19937 random(2);
  RegionGraph graph;
  graph.add_node(kinds.next(), {});
  for (std::uint32_t node = 1; node < nodes; ++node) {
    const std::uint32_t reach = std::min(node, 64U);
    const std::uint32_t first = node - 1 - static_cast<std::uint32_t>(random() % reach);
    const std::uint32_t second = node - 1 - static_cast<std::uint32_t>(random() % reach);
    graph.add_node(kinds.next(), {first, second});
  }
  return graph;
}

// Layers of 8 attention heads and a feed-forward block, with residual edges.
RegionGraph transformer(std::uint32_t nodes, int unsupported_percent) {
  Kinds kinds(unsupported_percent);
  RegionGraph graph;
  const auto add = [&](std::initializer_list<std::uint32_t> inputs) {
    return graph.add_node(kinds.next(), inputs);
  };
  std::uint32_t stream = add({});
  while (graph.size() < nodes) {
    const std::uint32_t normed = add({stream});
    std::vector<std::uint32_t> heads;
    for (int head = 0; head < 8; ++head) {
      const std::uint32_t query = add({normed});
      const std::uint32_t key = add({add({normed})});
      const std::uint32_t value = add({normed});
      const std::uint32_t weights = add({add({add({query, key})})});
      heads.push_back(add({weights, value}));
    }
    const std::uint32_t joined = graph.add_node(kinds.next(), heads);
    const std::uint32_t attended = add({stream, add({joined})});
    stream = add({attended, add({add({add({add({attended})})})})});
  }
  return graph;
}

void grow(benchmark::State& state, const RegionGraph& graph, RegionMode mode) {
  RegionPlan plan;
  for (auto _ : state) plan = grow_regions(graph, {.mode = mode});
  state.counters["regions"] = static_cast<double>(plan.regions.size());
  state.counters["border"] = static_cast<double>(testing::border_of(graph, plan));
  state.SetItemsProcessed(state.iterations() * graph.size());
}

struct Shape {
  const char* name;
  RegionGraph (*make)(std::uint32_t nodes, int unsupported_percent);
};
struct Mode {
  const char* name;
  RegionMode mode;
};

constexpr Shape all_shapes[] = {{"chain", chain}, {"window", window}, {"transformer", transformer}};
constexpr Mode all_modes[] = {{"settled", RegionMode::Settled}, {"fx", RegionMode::Fx}};

void register_all() {
  for (const Shape& shape : all_shapes) {
    for (const Mode& mode : all_modes) {
      for (std::uint32_t nodes : {10'000U, 40'000U, 100'000U, 1'000'000U}) {
        for (int percent : {0, 1, 10}) {
          const std::string name = std::string(shape.name) + "/" + mode.name + "/" + std::to_string(nodes) +
                                   "/" + std::to_string(percent) + "%";
          benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
            grow(state, shape.make(nodes, percent), mode.mode);
          })->Unit(benchmark::kMillisecond);
        }
      }
    }
  }
}

}  // namespace
}  // namespace depute

int main(int argc, char** argv) {
  depute::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
