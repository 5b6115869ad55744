// Random programs, executed twice: node by node with a memory for each value, and by their plan in its arena.
// What shares memory wrongly gives other results.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "plan/plan.h"
#include "plan/plan_text.h"
#include "tests/unit/plan/state_machine.h"

namespace depute {
namespace {

using namespace state_testing;

constexpr std::int64_t row_count = 8;
constexpr std::int64_t column_count = 4;

// Writes a random method; remembers what each value should hold.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    Method& method = program.add_method(Name("forward"));
    if (method.graph == nullptr) method.graph = std::make_unique<Graph>(Name("forward"));
    graph_ = method.graph.get();
    auto delegate = std::make_unique<Delegate>();
    delegate->name = Name("d");
    delegate->backend_id = "SomeBackend";
    program.delegates.push_back(std::move(delegate));
    for (int i = 0; i < 2; ++i) {
      Value* input = graph_->add_input(Name("x"), type(row_count));
      method.inputs.emplace_back();
      Cells cells;
      for (std::int64_t j = 0; j < row_count * column_count; ++j) cells.push_back(random_());
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
    return tensor_type(make_tensor(ScalarType::F32, {height, column_count}));
  }
  std::size_t pick() { return values_.size() - 1 - random_() % std::min<std::size_t>(values_.size(), 5); }
  void add(Value* value, Cells cells) { values_.emplace_back(value, std::move(cells)); }

  void add_unary(std::string_view op, Value* value, Cells cells) {
    const ResultSpec result{Name("v"), value->type()};
    Node* node = graph_->add(Name(op), {Argument::of(value)}, {}, {result});
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
        Node* node = graph_->add(Name("delegate.call"),
                                 {Argument::text(Argument::Kind::Delegate, Name("d")), Argument::of(value)},
                                 {}, {{Name("v"), value->type()}});
        return add(node->result(), negated(cells));
      }
    }
  }

  void add_sum(Value* value, const Cells& cells, Value* other, const Cells& other_cells) {
    Node* node = graph_->add(Name("aten.add.Tensor"), {Argument::of(value), Argument::of(other)}, {},
                             {{Name("v"), value->type()}});
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
        graph_->add(Name("aten.slice.Tensor"),
                    {Argument::of(value), Argument::of(0), Argument::of(start), Argument::of(start + count)},
                    {}, {{Name("v"), type(count)}});
    add(node->result(), part(cells, static_cast<std::size_t>(start * column_count),
                             static_cast<std::size_t>(count * column_count)));
  }

  void add_split(Value* value, const Cells& cells, std::int64_t height) {
    if (height % 2 != 0) return;
    Node* node = graph_->add(Name("aten.split_with_sizes.default"),
                             {Argument::of(value), graph_->int_list({height / 2, height / 2})}, {},
                             {{Name("v"), type(height / 2)}, {Name("w"), type(height / 2)}});
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

TEST(RandomPlans, GiveWhatTheNodesGive) {
  std::map<std::string, int> seen;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomProgram random(seed);
    auto plan = make_plan(random.program);
    ASSERT_TRUE(plan) << plan.error().str();
    const ExecutionPlan& method = plan->methods[0];
    Memory memory(*plan);
    Machine machine(*plan, method, memory);
    ASSERT_EQ(machine.run(random.inputs), random.expected) << "seed " << seed << "\n" << plan_text(method);
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
