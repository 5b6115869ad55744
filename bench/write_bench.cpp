// How planning and writing scale: many small kernel calls, and few large weights.
//
//   write_bench --benchmark_filter=write_nodes
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "bench/mlp_file.h"
#include "depute/compiler/normalize.h"
#include "plan/plan.h"
#include "read/pt2/read_pt2.h"
#include "support/try.h"
#include "write/write_pte.h"

namespace depute {
namespace {

Result<Program> read_normalized(const MlpFile& model) {
  TRY(auto file, MappedFile::open(model.path()));
  TRY(Program program, read_pt2(std::move(file)));
  return normalize(std::move(program));
}

// Removed with the benchmark.
class OutputPath {
 public:
  OutputPath()
      : path_((std::filesystem::temp_directory_path() / fmt::format("depute_bench_{}.pte", getpid()))
                  .string()) {}
  ~OutputPath() { remove(); }
  OutputPath(const OutputPath&) = delete;
  OutputPath& operator=(const OutputPath&) = delete;
  const std::string& str() const { return path_; }
  void remove() const { std::filesystem::remove(path_); }

 private:
  std::string path_;
};

void plan(benchmark::State& state) {
  const MlpFile model({.layers = static_cast<int>(state.range(0)), .width = 4});
  auto program = read_normalized(model);
  if (!program) return state.SkipWithError(program.error().str().c_str());
  for (auto _ : state) {
    auto planned = make_plan(*program);
    if (!planned) return state.SkipWithError(planned.error().str().c_str());
    benchmark::DoNotOptimize(planned->methods.data());
  }
  state.SetItemsProcessed(
      static_cast<std::int64_t>(state.iterations() * program->methods[0]->graph->node_count()));
}
BENCHMARK(plan)->Arg(100)->Arg(1000)->Arg(10'000)->Arg(50'000)->Unit(benchmark::kMillisecond);

void write(benchmark::State& state, const MlpShape& shape) {
  const MlpFile model(shape);
  auto program = read_normalized(model);
  if (!program) return state.SkipWithError(program.error().str().c_str());
  auto planned = make_plan(*program);
  if (!planned) return state.SkipWithError(planned.error().str().c_str());
  const OutputPath out;
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    // Replacing a file makes some file systems write the new one to the disk at once.
    state.PauseTiming();
    out.remove();
    state.ResumeTiming();
    auto written = write_pte(*program, *planned, out.str());
    if (!written) return state.SkipWithError(written.error().str().c_str());
    bytes = written->file_bytes;
  }
  state.SetItemsProcessed(
      static_cast<std::int64_t>(state.iterations() * program->methods[0]->graph->node_count()));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

void write_nodes(benchmark::State& state) {
  write(state, {.layers = static_cast<int>(state.range(0)), .width = 4});
}
BENCHMARK(write_nodes)->Arg(100)->Arg(1000)->Arg(10'000)->Arg(50'000)->Unit(benchmark::kMillisecond);

// 4, 64 and 256 MB of weights.
void write_weights(benchmark::State& state) {
  write(state, {.layers = static_cast<int>(state.range(0)), .width = 1024});
}
BENCHMARK(write_weights)->Arg(1)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace depute

BENCHMARK_MAIN();
