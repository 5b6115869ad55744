#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "plan/flatten.h"
#include "plan/method_planner.h"
#include "plan/placement.h"
#include "plan/plan_text.h"
#include "plan/tensor_bounds.h"

namespace depute {
namespace {

// A plan executes a method once, from its inputs to its outputs: nothing is kept between calls.
Status check_stateless(const Method& method) {
  for (const OutputSpec& output : method.outputs) {
    if (output.kind == OutputSpec::Kind::UserOutput) continue;
    return plan_error(method.name, nullptr,
                      fmt::format("the method changes {}, and the output keeps nothing between calls",
                                  output.target.empty() ? "a token" : quoted(output.target.str())),
                      "return the new value as an output and pass it to the next call");
  }
  return {};
}

std::vector<const Method*> methods_by_name(const Program& program) {
  std::vector<const Method*> methods;
  for (const auto& method : program.methods) methods.push_back(method.get());
  std::ranges::sort(methods, {}, [](const Method* method) { return method->name.str(); });
  return methods;
}

}  // namespace

Result<Plan> make_plan(const Program& program, const PlanOptions& options) {
  Plan plan;
  ConstantPool constants;
  std::set<std::string> kernel_modules;
  for (const Method* method : methods_by_name(program)) {
    TRY_STATUS(check_stateless(*method));
    TRY(std::unique_ptr<Method> flat, flatten(program, *method));
    if (flat != nullptr) method = flat.get();
    TRY(Placement placement, place_values(program, *method, options));
    internal::MethodPlanner planner(program, *method, std::move(placement), constants, kernel_modules);
    TRY(ExecutionPlan execution_plan, planner.run());
    plan.methods.push_back(std::move(execution_plan));
  }
  plan.constants = std::move(constants).take();
  plan.kernel_modules.assign(kernel_modules.begin(), kernel_modules.end());
  return plan;
}

}  // namespace depute
