// How reading scales: .pt2 archives by their number of layers (two nodes and two weights each), and programs
// in text form by their number of nodes.
//
//   read_bench --benchmark_filter=pt2
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/mlp_file.h"
#include "depute/program/text.h"
#include "read/pt2/read_pt2.h"

namespace depute {
namespace {

void set_counters(benchmark::State& state, std::size_t nodes, std::size_t bytes) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * nodes));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

void pt2(benchmark::State& state) {
  const auto layers = static_cast<int>(state.range(0));
  const MlpFile model({.layers = layers, .width = 4});
  std::size_t bytes = 0;
  for (auto _ : state) {
    auto file = MappedFile::open(model.path());
    if (!file) return state.SkipWithError(file.error().str().c_str());
    auto program = read_pt2(*file);
    if (!program) return state.SkipWithError(program.error().str().c_str());
    benchmark::DoNotOptimize(program->methods[0]->graph->node_count());
    bytes = (*file)->bytes().size();
  }
  set_counters(state, 2 * static_cast<std::size_t>(layers), bytes);
}
BENCHMARK(pt2)->Arg(100)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

std::string chain_text(std::size_t nodes) {
  std::string text = "program\n\nmethod forward(%v0: f32[64]) {\n";
  for (std::size_t i = 0; i < nodes; ++i) {
    text += fmt::format("  %v{}: f32[64] = aten.relu.default(%v{}) #{}\n", i + 1, i, i + 1);
  }
  return text + fmt::format("  return %v{}\n}}\n", nodes);
}

void text(benchmark::State& state) {
  const auto nodes = static_cast<std::size_t>(state.range(0));
  const std::string chain = chain_text(nodes);
  for (auto _ : state) {
    auto program = parse_program(chain, "chain.ir");
    if (!program) return state.SkipWithError(program.error().str().c_str());
    benchmark::DoNotOptimize(program->methods[0]->graph->node_count());
  }
  set_counters(state, nodes, chain.size());
}
BENCHMARK(text)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void text_printed(benchmark::State& state) {
  const auto nodes = static_cast<std::size_t>(state.range(0));
  auto program = parse_program(chain_text(nodes), "chain.ir");
  if (!program) return state.SkipWithError(program.error().str().c_str());
  std::size_t bytes = 0;
  for (auto _ : state) bytes = print(*program).size();
  set_counters(state, nodes, bytes);
}
BENCHMARK(text_printed)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace depute

BENCHMARK_MAIN();
