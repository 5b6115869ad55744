// Random programs, executed twice: node by node with a memory for each value, and by their plan in its arena.
// What shares memory wrongly gives other results.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "plan/plan.h"
#include "plan/plan_text.h"

namespace depute {
namespace {

using Cells = std::vector<std::uint64_t>;  // one per f32 element

constexpr std::int64_t rows = 8;
constexpr std::int64_t columns = 4;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ (b * 0x9E3779B97F4A7C15ULL)) * 0xBF58476D1CE4E5B9ULL;
  return x ^ (x >> 29);
}

Cells negated(const Cells& x) {
  Cells result;
  for (std::uint64_t cell : x) result.push_back(mix(cell, 1));
  return result;
}

Cells sum(const Cells& x, const Cells& y) {
  Cells result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(mix(x[i], mix(y[i], 2)));
  return result;
}

Cells part(const Cells& x, std::size_t first, std::size_t count) {
  return {x.begin() + static_cast<std::ptrdiff_t>(first),
          x.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

// Writes a random method; remembers what each value should hold.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    Method& method = program.add_method(Symbol("forward"));
    if (method.graph == nullptr) method.graph = std::make_unique<Graph>(Symbol("forward"));
    graph_ = method.graph.get();
    auto delegate = std::make_unique<Delegate>();
    delegate->name = Symbol("d");
    delegate->backend_id = "SomeBackend";
    program.delegates.push_back(std::move(delegate));
    for (int i = 0; i < 2; ++i) {
      Value* input = graph_->add_input(Symbol("x"), type(rows));
      method.inputs.emplace_back();
      Cells cells;
      for (std::int64_t j = 0; j < rows * columns; ++j) cells.push_back(random_());
      inputs.push_back(cells);
      add(input, cells);
    }
    for (int i = 0; i < 40; ++i) add_node();
    std::vector<Argument> outputs;
    for (int i = 0; i < 4; ++i) {
      const auto& [value, cells] = values_[pick()];
      outputs.push_back(Argument::of(value));
      expected.push_back(cells);
      method.outputs.emplace_back();
    }
    graph_->set_outputs(outputs);
  }

  Program program;
  std::vector<Cells> inputs;
  std::vector<Cells> expected;

 private:
  static Type type(std::int64_t height) {
    return tensor_type(make_tensor(ScalarType::F32, {height, columns}));
  }
  std::size_t pick() { return values_.size() - 1 - random_() % std::min<std::size_t>(values_.size(), 5); }
  void add(Value* value, Cells cells) { values_.emplace_back(value, std::move(cells)); }

  void add_unary(std::string_view op, Value* value, Cells cells) {
    const ResultSpec result{Symbol("v"), value->type()};
    Node* node = graph_->add(Symbol(op), {Argument::of(value)}, {}, {result});
    add(node->result(), std::move(cells));
  }

  void add_node() {
    auto [value, cells] = values_[pick()];
    std::int64_t height = value->tensor().sizes[0].value();
    switch (random_() % 6) {
      case 0:
        return add_unary("aten.neg.default", value, negated(cells));
      case 1: {
        const auto& [other, other_cells] = values_[pick()];
        if (other->type() == value->type()) add_sum(value, cells, other, other_cells);
        return;
      }
      case 2:
        return add_unary("aten.alias.default", value, cells);
      case 3:
        return add_slices(value, cells, height);
      case 4:
        return add_split(value, cells, height);
      default: {
        Node* node = graph_->add(Symbol("delegate.call"),
                                 {Argument::text(Argument::Kind::Delegate, Symbol("d")), Argument::of(value)},
                                 {}, {{Symbol("v"), value->type()}});
        return add(node->result(), negated(cells));
      }
    }
  }

  void add_sum(Value* value, const Cells& cells, Value* other, const Cells& other_cells) {
    Node* node = graph_->add(Symbol("aten.add.Tensor"), {Argument::of(value), Argument::of(other)}, {},
                             {{Symbol("v"), value->type()}});
    add(node->result(), sum(cells, other_cells));
  }

  // Alone, or two cuts that overlap and are added.
  void add_slices(Value* value, const Cells& cells, std::int64_t height) {
    auto start = static_cast<std::int64_t>(random_() % static_cast<unsigned>(height));
    std::int64_t count = 1 + static_cast<std::int64_t>(random_() % static_cast<unsigned>(height - start));
    if (start == 0 || random_() % 2 == 0) return add_slice(value, cells, start, count);
    add_slice(value, cells, start, count);
    add_slice(value, cells, start - 1, count);
    auto [first, first_cells] = values_[values_.size() - 2];
    auto [second, second_cells] = values_.back();
    add_sum(first, first_cells, second, second_cells);
  }

  void add_slice(Value* value, const Cells& cells, std::int64_t start, std::int64_t count) {
    Node* node =
        graph_->add(Symbol("aten.slice.Tensor"),
                    {Argument::of(value), Argument::of(0), Argument::of(start), Argument::of(start + count)},
                    {}, {{Symbol("v"), type(count)}});
    add(node->result(),
        part(cells, static_cast<std::size_t>(start * columns), static_cast<std::size_t>(count * columns)));
  }

  void add_split(Value* value, const Cells& cells, std::int64_t height) {
    if (height % 2 != 0) return;
    Node* node = graph_->add(Symbol("aten.split_with_sizes.default"),
                             {Argument::of(value), graph_->int_list({height / 2, height / 2})}, {},
                             {{Symbol("v"), type(height / 2)}, {Symbol("w"), type(height / 2)}});
    std::size_t half = cells.size() / 2;
    add(node->result(0), part(cells, 0, half));
    add(node->result(1), part(cells, half, half));
    if (random_() % 2 == 0)
      add_sum(node->result(0), part(cells, 0, half), node->result(1), part(cells, half, half));
  }

  std::mt19937 random_;
  Graph* graph_ = nullptr;
  std::vector<std::pair<Value*, Cells>> values_;
};

// Executes a plan as the runtime would, on cells instead of floats.
class Machine {
 public:
  explicit Machine(const ExecutionPlan& plan)
      : plan_(plan), arena_(static_cast<std::size_t>(plan.memory_sizes.at(1)) / 4) {}

  std::vector<Cells> run(const std::vector<Cells>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) store(plan_.inputs[i], inputs[i]);
    for (const Instruction& instruction : plan_.instructions) execute(instruction);
    std::vector<Cells> outputs;
    for (std::int32_t output : plan_.outputs) outputs.push_back(load(output));
    return outputs;
  }

 private:
  std::span<std::uint64_t> cells(std::int64_t index) {
    const PlanTensor& tensor = plan_.tensors[plan_.values[static_cast<std::size_t>(index)].first];
    std::size_t count = 1;
    for (std::int32_t size : tensor.sizes) count *= static_cast<std::size_t>(size);
    EXPECT_LE(tensor.memory_offset / 4 + count, arena_.size());
    return std::span(arena_).subspan(tensor.memory_offset / 4, count);
  }
  Cells load(std::int64_t index) {
    auto span = cells(index);
    return {span.begin(), span.end()};
  }
  void store(std::int64_t index, const Cells& values) { std::ranges::copy(values, cells(index).begin()); }
  std::int64_t number(std::int32_t index) const {
    return plan_.values[static_cast<std::size_t>(index)].int_value;
  }

  // A kernel may read and write in any order, so what it writes is all of an operand or nothing of it. Only
  // pointwise kernels may do the former.
  void expect_order_does_not_matter(std::int32_t in, std::int32_t out, bool is_pointwise) {
    auto read = cells(in);
    auto written = cells(out);
    bool is_apart =
        written.data() + written.size() <= read.data() || read.data() + read.size() <= written.data();
    bool is_same = read.data() == written.data() && read.size() == written.size();
    EXPECT_TRUE(is_apart || (is_same && is_pointwise)) << plan_text(plan_);
  }

  void execute(const Instruction& instruction) {
    auto args = plan_.args_of(instruction);
    if (instruction.kind == Instruction::Kind::DelegateCall) {
      const PlanTensor& input = plan_.tensors[plan_.values[static_cast<std::size_t>(args[0])].first];
      EXPECT_EQ(input.memory_offset % 16, 0);
      expect_order_does_not_matter(args[0], args[1], false);
      return store(args[1], negated(load(args[0])));
    }
    std::string op = plan_.operators[static_cast<std::size_t>(instruction.index)].str();
    if (op == "aten::neg.out") {
      expect_order_does_not_matter(args[0], args[1], true);
      return store(args[1], negated(load(args[0])));
    }
    if (op == "aten::add.out") {
      expect_order_does_not_matter(args[0], args[3], true);
      expect_order_does_not_matter(args[1], args[3], true);
      return store(args[3], sum(load(args[0]), load(args[1])));
    }
    if (op == "aten::slice_copy.Tensor_out") {
      expect_order_does_not_matter(args[0], args[5], false);
      auto first = static_cast<std::size_t>(number(args[2]) * columns);
      return store(args[5], part(load(args[0]), first, cells(args[5]).size()));
    }
    if (op == "aten::split_with_sizes_copy.out") {
      Cells all = load(args[0]);
      std::size_t first = 0;
      for (std::int64_t item : plan_.list_items(plan_.values[static_cast<std::size_t>(args[3])])) {
        expect_order_does_not_matter(args[0], static_cast<std::int32_t>(item), false);
        store(item, part(all, first, cells(item).size()));
        first += cells(item).size();
      }
      return;
    }
    ADD_FAILURE() << op;
  }

  const ExecutionPlan& plan_;
  Cells arena_;
};

TEST(RandomPlans, GiveWhatTheNodesGive) {
  std::map<std::string, int> seen;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomProgram random(seed);
    auto plan = make_plan(random.program);
    ASSERT_TRUE(plan) << plan.error().str();
    const ExecutionPlan& method = plan->methods[0];
    ASSERT_EQ(Machine(method).run(random.inputs), random.expected) << "seed " << seed << "\n"
                                                                   << plan_text(method);
    for (const PlanOperator& op : method.operators) ++seen[op.str()];
  }
  EXPECT_EQ(seen.size(), 4);  // all kinds of instructions, copies of cuts too
}

TEST(RandomPlans, ArePlannedTheSameWayAgain) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    auto plan = make_plan(RandomProgram(seed).program);
    auto again = make_plan(RandomProgram(seed).program);
    EXPECT_EQ(plan_text(plan->methods[0]), plan_text(again->methods[0]));
  }
}

}  // namespace
}  // namespace depute
