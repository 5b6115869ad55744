// How partitioning a program scales: from nodes with arguments and types to tags, verdicts and moved
// constants.
//
//   propose_partitions_bench --benchmark_filter='chain/40000'
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <string>

#include "depute/backend/partitioner.h"
#include "depute/backend/partitioners.h"
#include "depute/program/program.h"

namespace depute {
namespace {

// A chain of add, mul and relu, every node with a second operand some steps back or a weight; a tan each so
// often.
Program chain(std::uint32_t nodes, std::uint32_t tans) {
  Program program;
  Method& method = program.add_method(Name("forward"));
  Graph& graph = *method.graph;
  const Type type = tensor_type(make_tensor(ScalarType::F32, {1, 64, 56, 56}));
  Value* x = graph.add_input(Name("x"), type);
  method.inputs.push_back({});
  std::vector<Value*> weights;
  for (int i = 0; i < 100; ++i) {
    weights.push_back(graph.add_input(Name("w"), type));
    method.inputs.push_back({.kind = InputSpec::Kind::Parameter, .target = Name("w" + std::to_string(i))});
  }
  const Name add("aten.add.Tensor"), mul("aten.mul.Tensor"), relu("aten.relu.default"),
      tan("aten.tan.default");
  const std::uint32_t every = tans == 0 ? nodes + 1 : nodes / tans;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const bool is_tan = i % every == every - 1;
    const Name op = is_tan ? tan : i % 3 == 0 ? add : i % 3 == 1 ? mul : relu;
    std::vector<Argument> args{Argument::of(x)};
    if (op == add || op == mul) args.push_back(Argument::of(weights[i % weights.size()]));
    const ResultSpec result{Name("v"), type};
    x = graph.add(op, args, {}, {&result, 1})->result();
  }
  const Argument output = Argument::of(x);
  graph.set_outputs({&output, 1});
  method.outputs.push_back({});
  return program;
}

SupportFunction all_but_tan() {
  return [](const Node& node) {
    static const Name tan("aten.tan.default");
    return node.op() == tan ? refuse("op", node.op().str(), "all others") : take();
  };
}

void run(benchmark::State& state, const Program& program, const Partitioner& partitioner) {
  std::size_t partitions = 0;
  for (auto _ : state) {
    auto result = partitioner.partition(program, *program.methods[0]);
    partitions = result->partition_tags.size();
    benchmark::DoNotOptimize(result);
  }
  state.counters["partitions"] = static_cast<double>(partitions);
}

void capability(benchmark::State& state) {
  const Program program =
      chain(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)));
  run(state, program, CapabilityPartitioner(all_but_tan(), {.owner = "mine", .spec = {"Mine", {}}}));
}

void with_cost(benchmark::State& state) {
  const Program program =
      chain(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)));
  ProposeOptions options{.owner = "mine", .spec = {"Mine", {}}};
  options.cost = {.launch = 10, .per_kib = 0};
  options.max_values = 1000;
  run(state, program, CapabilityPartitioner(all_but_tan(), std::move(options)));
}

void patterns(benchmark::State& state) {
  const Program program =
      chain(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)));
  auto parsed = parse_patterns(R"(program
method add_mul_relu(%x: none, %w: none, %v: none) {
  %a: none = aten.add.Tensor(%x, %w)
  %m: none = aten.mul.Tensor(%a, %v)
  %r: none = aten.relu.default(%m)
  return %r
}
)");
  run(state, program, PatternPartitioner(std::move(*parsed), {.owner = "mine", .spec = {"Mine", {}}}));
}

void two_backends(benchmark::State& state) {
  const Program program =
      chain(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)));
  std::vector<std::unique_ptr<Partitioner>> both;
  both.push_back(std::make_unique<CapabilityPartitioner>(
      support_by_op({{"aten.relu.default", {}}}), ProposeOptions{.owner = "one", .spec = {"One", {}}}));
  both.push_back(std::make_unique<CapabilityPartitioner>(
      all_but_tan(), ProposeOptions{.owner = "two", .spec = {"Two", {}}}));
  run(state, program, SeveralPartitioners(std::move(both)));
}

BENCHMARK(capability)
    ->Args({2'000, 80})
    ->Args({40'000, 400})
    ->Args({1'000'000, 10'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(with_cost)->Args({40'000, 400})->Unit(benchmark::kMillisecond);
BENCHMARK(patterns)->Args({40'000, 400})->Unit(benchmark::kMillisecond);
BENCHMARK(two_backends)->Args({40'000, 400})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace depute

BENCHMARK_MAIN();
