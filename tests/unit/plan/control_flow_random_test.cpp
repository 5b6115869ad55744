// Random programs with control flow: what their plans compute in their memory, call after call, is what the
// reference interpreter computes from the graphs.
#include <gtest/gtest.h>

#include <map>

#include "depute/compiler/normalize.h"
#include "depute/program/interpret.h"
#include "depute/program/text.h"
#include "ir/verify.h"
#include "kernels/tensors.h"
#include "plan/plan_text.h"
#include "random_control_flow.h"

namespace depute {
namespace {

std::vector<MachineValue> interpreted(const Program& program, const std::vector<MachineTensor>& inputs) {
  std::vector<RuntimeValue> contents;
  for (const MachineTensor& input : inputs) {
    Dims sizes(input.sizes.begin(), input.sizes.end());
    contents.emplace_back(make_data<std::int64_t>(ScalarType::I64, sizes, input.elements));
  }
  auto outputs = interpret(program, *program.methods[0], contents);
  EXPECT_TRUE(outputs) << outputs.error().str() << print(program);
  std::vector<MachineValue> values;
  if (!outputs) return values;
  for (const RuntimeValue& output : *outputs) {
    const auto& data = std::get<TensorData>(output);
    internal::Elements<std::int64_t> elements(data);
    MachineTensor tensor;
    for (const SymInt& size : data.type.sizes) tensor.sizes.push_back(size.value());
    for (std::size_t i = 0; i < elements.size(); ++i) tensor.elements.push_back(elements[i]);
    values.emplace_back(std::move(tensor));
  }
  return values;
}

// Three calls of one loaded program, with the inputs of `random`.
void compare(RandomControlFlow& random, const Program& planned, unsigned seed,
             std::map<std::string, int>& seen) {
  auto plan = make_plan(planned);
  ASSERT_TRUE(plan) << plan.error().str() << print(planned);
  const ExecutionPlan& method = plan->methods[0];
  ControlFlowMachine machine(method, plan->constants);
  for (int call = 0; call < 3; ++call) {
    std::vector<MachineTensor> inputs = random.inputs();
    ASSERT_EQ(machine.run(inputs), interpreted(random.program, inputs))
        << "seed " << seed << ", call " << call << "\n"
        << print(planned) << plan_text(method);
    if (::testing::Test::HasFailure()) return;
  }
  for (const PlanOperator& op : method.operators) ++seen[op.str()];
  for (const Instruction& instruction : method.instructions) {
    if (instruction.kind == Instruction::Kind::MoveCall) ++seen["move"];
    if (instruction.kind == Instruction::Kind::DelegateCall) ++seen["delegate"];
  }
}

TEST(RandomControlFlow, PlansComputeWhatTheGraphsDo) {
  std::map<std::string, int> seen;
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomControlFlow random(seed);
    auto violations = verify(random.program);
    ASSERT_TRUE(violations.empty()) << violations[0].str() << print(random.program);
    compare(random, random.program, seed, seen);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(seen["aten::clone.out"], 100);
  EXPECT_GE(seen["executorch_prim::et_copy_index.tensor"], 100);
  EXPECT_GE(seen["executorch_prim::et_view.default"], 100);
  EXPECT_GE(seen["aten::empty.out"], 100);
  EXPECT_GE(seen["delegate"], 100);
}

TEST(RandomControlFlow, NormalizedProgramsToo) {
  std::map<std::string, int> seen;
  for (unsigned seed = 0; seed < 150; ++seed) {
    RandomControlFlow random(seed);
    auto normalized = normalize(clone(random.program), {.verify = true});
    ASSERT_TRUE(normalized) << normalized.error().str() << print(random.program);
    compare(random, *normalized, seed, seen);
    if (HasFatalFailure()) return;
  }
}

TEST(RandomControlFlow, IsPlannedTheSameWayAgain) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    auto plan = make_plan(RandomControlFlow(seed).program);
    auto again = make_plan(RandomControlFlow(seed).program);
    EXPECT_EQ(plan_text(plan->methods[0]), plan_text(again->methods[0]));
  }
}

}  // namespace
}  // namespace depute
