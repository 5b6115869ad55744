// Random programs of two methods that write to shared and to own buffers and to their inputs, executed call
// by call in any order: by their plans in the memory that the methods share, and node by node.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "plan/plan.h"
#include "plan/plan_text.h"
#include "tests/unit/plan/state_machine.h"

namespace depute {
namespace {

using namespace state_testing;

constexpr std::int64_t state_rows = 4;
constexpr std::int64_t state_columns = 2;
constexpr int buffers = 4;

Type type(std::int64_t height) {
  return tensor_type(make_tensor(ScalarType::F32, {height, state_columns}));
}

// One that is not known may keep state, which it does for one method only.
Name delegate_of(std::string_view method) {
  return Name(fmt::format("delegate_{}", method));
}

class RandomMethod {
 public:
  RandomMethod(Program& program, std::string_view name, std::mt19937& random)
      : method_(program.add_method(Name(name))), random_(random) {
    for (int i = 0; i < buffers; ++i) {
      Name key(fmt::format("buffer{}", i));
      add_input(fmt::format("b{}", i), {.kind = InputSpec::Kind::Buffer, .target = key, .constant = {}});
    }
    for (int i = 0; i < 2; ++i) add_input(fmt::format("x{}", i), {});
    for (int i = 0; i < 14; ++i) add_node();
    add_outputs();
  }

 private:
  Graph& graph() { return *method_.graph; }
  std::size_t below(std::size_t count) { return random_() % count; }

  void add_input(const std::string& name, InputSpec spec) {
    values_.push_back(graph().add_input(Name(name), type(state_rows)));
    method_.inputs.push_back(std::move(spec));
  }

  void add_call(std::string_view op, std::initializer_list<Argument> args, std::int64_t height) {
    values_.push_back(graph().add(Name(op), args, {}, {{Name("v"), type(height)}})->result());
  }

  // Of all values or of the latest ones.
  Value* pick() {
    std::size_t range = below(2) == 0 ? values_.size() : std::min<std::size_t>(values_.size(), 4);
    return values_[values_.size() - 1 - below(range)];
  }
  Value* pick(std::int64_t height) {
    for (;;) {
      Value* value = pick();
      if (height_of(*value) == height) return value;
      if (below(20) == 0) return values_[below(buffers)];
    }
  }
  static std::int64_t height_of(const Value& value) { return value.tensor().sizes[0].value(); }

  void add_node() {
    Value* value = pick();
    Argument self = Argument::of(value);
    std::int64_t height = height_of(*value);
    switch (below(6)) {
      case 0:
        return add_call("aten.neg.default", {self}, height);
      case 1: {
        Value* other = pick(height);
        if (height_of(*other) == height) add_call("aten.add.Tensor", {self, Argument::of(other)}, height);
        return;
      }
      case 2:
        return add_call("aten.alias.default", {self}, height);
      case 3: {
        auto start = static_cast<std::int64_t>(below(static_cast<std::size_t>(height)));
        return add_call("aten.slice.Tensor",
                        {self, Argument::of(0), Argument::of(start), Argument::of(height)}, height - start);
      }
      case 4: {
        Value* over = pick(state_rows);
        auto start = static_cast<std::int64_t>(below(static_cast<std::size_t>(state_rows - height + 1)));
        return add_call(
            "aten.slice_scatter.default",
            {Argument::of(over), self, Argument::of(0), Argument::of(start), Argument::of(start + height)},
            state_rows);
      }
      default:
        return add_call("delegate.call",
                        {Argument::text(Argument::Kind::Delegate, delegate_of(method_.name.str())), self},
                        height);
    }
  }

  void add_outputs() {
    std::vector<Argument> outputs;
    auto add = [&](OutputSpec spec, Value* value) {
      outputs.push_back(Argument::of(value));
      method_.outputs.push_back(spec);
    };
    for (int i = 0; i < buffers; ++i) {
      Name key(fmt::format("buffer{}", i));
      if (below(3) > 0) add({OutputSpec::Kind::BufferMutation, key}, pick(state_rows));
    }
    for (int i = 0; i < 2; ++i) {
      Name name(fmt::format("x{}", i));
      if (below(3) == 0) add({OutputSpec::Kind::UserInputMutation, name}, pick(state_rows));
    }
    for (std::size_t i = below(4); i > 0; --i) add({}, pick());
    graph().set_outputs(outputs);
  }

  Method& method_;
  std::mt19937& random_;
  std::vector<Value*> values_;
};

Program random_program(unsigned seed) {
  std::mt19937 random(seed);
  Program program;
  for (const char* method : {"f", "g"}) {
    auto delegate = std::make_unique<Delegate>();
    delegate->name = delegate_of(method);
    delegate->backend_id = "SomeBackend";
    program.delegates.push_back(std::move(delegate));
  }
  for (int i = 0; i < buffers; ++i) {
    std::vector<float> start;
    for (std::int64_t j = 0; j < state_rows * state_columns; ++j)
      start.push_back(static_cast<float>(random() % 1000));
    program.data.emplace(Name(fmt::format("buffer{}", i)),
                         make_data<float>(ScalarType::F32, {state_rows, state_columns}, start));
  }
  RandomMethod(program, "f", random);
  RandomMethod(program, "g", random);
  return program;
}

// Executes nodes as they stand, with a memory for each value.
class Interpreter {
 public:
  explicit Interpreter(const Program& program) {
    for (const auto& [key, data] : program.data) state_[key] = cells_of(data);
  }

  std::vector<Cells> run(const Method& method, std::vector<Cells>& inputs) {
    std::map<const Value*, Cells> values;
    std::size_t next = 0;
    for (const Value* input : method.graph->inputs()) {
      const InputSpec& spec = method.inputs[input->index()];
      values[input] = spec.has_data() ? state_.at(spec.target) : inputs[next++];
    }
    for (const Node& node : method.graph->nodes()) values[node.result()] = result_of(node, values);
    std::vector<Cells> outputs;
    for (std::size_t i = 0; i < method.outputs.size(); ++i) {
      const Cells& content = values.at(method.graph->outputs()[i].as_value());
      const OutputSpec& spec = method.outputs[i];
      if (spec.kind == OutputSpec::Kind::UserOutput) outputs.push_back(content);
      if (spec.kind == OutputSpec::Kind::BufferMutation) state_.at(spec.target) = content;
      if (spec.kind == OutputSpec::Kind::UserInputMutation) inputs[spec.target == "x0" ? 0 : 1] = content;
    }
    return outputs;
  }

 private:
  static Cells result_of(const Node& node, const std::map<const Value*, Cells>& values) {
    const Cells& first = values.at(node.operand(0));
    auto cell = [&](std::size_t arg) {
      return static_cast<std::size_t>(node.arg(arg).as_int() * state_columns);
    };
    if (node.op() == "aten.alias.default") return first;
    if (node.op() == "aten.add.Tensor") return sum(first, values.at(node.operand(1)));
    if (node.op() == "aten.slice.Tensor") return part(first, cell(2), cell(3) - cell(2));
    if (node.op() == "aten.slice_scatter.default")
      return overwritten(first, cell(3), values.at(node.operand(1)));
    return negated(first);  // aten.neg, and the delegate
  }

  std::map<Name, Cells, SymbolTextLess> state_;
};

TEST(RandomState, IsWhatTheNodesLeave) {
  std::map<std::string, int> seen;
  int in_place = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Program program = random_program(seed);
    auto plan = make_plan(program);
    ASSERT_TRUE(plan) << plan.error().str();
    Memory memory(*plan);
    std::vector<Machine> machines;
    for (const ExecutionPlan& method : plan->methods) machines.emplace_back(*plan, method, memory);
    Interpreter interpreter(program);
    std::mt19937 random(seed + 1);
    for (int call = 0; call < 6; ++call) {
      std::size_t chosen = random() % 2;
      std::vector<Cells> given(2);
      for (Cells& cells : given) {
        for (std::int64_t i = 0; i < state_rows * state_columns; ++i) cells.push_back(random());
      }
      std::vector<Cells> wanted = given;
      memory.spoil_arena(random());
      auto expected = interpreter.run(*program.methods[chosen], wanted);
      ASSERT_EQ(machines[chosen].run(given), expected) << "seed " << seed << ", call " << call << "\n"
                                                       << plan_text(plan->methods[chosen]);
      ASSERT_EQ(given, wanted) << "seed " << seed << "\n" << plan_text(plan->methods[chosen]);
    }
    for (const ExecutionPlan& method : plan->methods) {
      for (const PlanOperator& op : method.operators) ++seen[op.str()];
      for (const PlanTensor& tensor : method.tensors)
        in_place += tensor.memory_id == 2 && tensor.constant == 0;
    }
  }
  EXPECT_GT(seen["aten::copy_"], 100);
  EXPECT_GT(seen["aten::clone.out"], 100);
  EXPECT_GT(in_place, 100);
}

}  // namespace
}  // namespace depute
