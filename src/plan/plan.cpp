#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/copy.h"
#include "ir/delegate_state.h"
#include "plan/flatten.h"
#include "plan/method_planner.h"
#include "plan/placement.h"
#include "plan/plan_text.h"
#include "plan/tensor_bounds.h"

namespace depute {
namespace {

std::vector<const Method*> methods_by_name(const Program& program) {
  std::vector<const Method*> methods;
  for (const auto& method : program.methods) methods.push_back(method.get());
  std::ranges::sort(methods, {}, [](const Method* method) { return method->name.str(); });
  return methods;
}

// The runtime makes an instance of a delegate for each method that calls it: one that keeps state would have
// several states.
Status check_stateful_delegates(const Program& program) {
  const StatefulDelegates stateful(program);
  if (stateful.empty()) return {};
  std::unordered_map<Symbol, const Method*> callers;
  for (const Method* method : methods_by_name(program)) {
    for (const Graph* graph : graphs_below(*method->graph)) {
      for (const Node& node : graph->nodes()) {
        const Symbol delegate = called_delegate(node);
        if (!stateful.contains(delegate)) continue;
        const Method* first = callers.try_emplace(delegate, method).first->second;
        if (first == method) continue;
        return plan_error(method->name, &node,
                          fmt::format("delegate {} keeps state, and method {} calls it, too",
                                      quoted(delegate.str()), first->name.str()),
                          "let one method call it, or keep the state in a buffer of the methods");
      }
    }
  }
  return {};
}

}  // namespace

Result<Plan> make_plan(const Program& program, const PlanOptions& options) {
  TRY_STATUS(check_stateful_delegates(program));
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

}  // namespace depute
