#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ops/verify_input.h"
#include "plan/flatten.h"
#include "plan/method_planner.h"
#include "plan/placement.h"
#include "plan/plan_text.h"
#include "plan/tensor_bounds.h"
#include "support/guarded.h"

namespace depute {
namespace {

std::vector<const Method*> methods_by_name(const Program& program) {
  std::vector<const Method*> methods;
  for (const auto& method : program.methods) methods.push_back(method.get());
  std::ranges::sort(methods, {}, [](const Method* method) { return method->name.str(); });
  return methods;
}

Result<Plan> plan_methods(const Program& program, const PlanOptions& options) {
  Plan plan;
  ConstantPool constants(options.external_constants);
  std::set<std::string> kernel_modules;
  TRY(State state, lay_out_state(program));
  for (const Method* method : methods_by_name(program)) {
    TRY(std::unique_ptr<Method> flat, flatten(program, *method));
    if (flat != nullptr) method = flat.get();
    TRY(Placement placement, place_values(program, *method, state, options));
    internal::MethodPlanner planner(program, *method, std::move(placement), constants, kernel_modules);
    TRY(ExecutionPlan execution_plan, planner.run());
    plan.methods.push_back(std::move(execution_plan));
  }
  plan.constants = std::move(constants).take();
  plan.external = std::move(constants).take_external();
  plan.initial_values = std::move(state.initial_values);
  plan.kernel_modules.assign(kernel_modules.begin(), kernel_modules.end());
  return plan;
}

}  // namespace

Result<Plan> make_plan(const Program& program, const PlanOptions& options) {
  return guarded([&]() -> Result<Plan> {
    if (!options.verified) TRY_STATUS(verify_input(program));
    return plan_methods(program, options);
  });
}

}  // namespace depute
