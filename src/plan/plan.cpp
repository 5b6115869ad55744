#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "depute/program/program.h"
#include "depute/program/walk.h"
#include "ir/delegate_state.h"
#include "ir/program_names.h"
#include "plan/flat/flatten.h"
#include "plan/memory/callers_planner.h"
#include "plan/memory/tensor_bounds.h"
#include "plan/method_planner.h"
#include "plan/plan_text.h"
#include "plan/refusals.h"
#include "plan/state_banks.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

std::vector<const Method*> methods_by_name(const Program& program) {
  std::vector<const Method*> methods;
  for (const auto& method : program.methods) methods.push_back(method.get());
  std::ranges::sort(methods, {}, [](const Method* method) { return method->name.str(); });
  return methods;
}

// Fails if two methods call a delegate with state: the runtime creates an instance per method, each with a
// separate state.
Status check_stateful_delegates(const Program& program, const StatefulDelegates& stateful) {
  if (stateful.empty()) return {};
  std::unordered_map<Name, const Method*> callers;
  for (const Method* method : methods_by_name(program)) {
    for (const Graph* graph : graphs_of(*method)) {
      for (const Node& node : graph->nodes()) {
        const Name delegate = called_delegate(node);
        if (!stateful.contains(delegate)) continue;
        const Method* first = callers.try_emplace(delegate, method).first->second;
        if (first == method) continue;
        return plan_error(method->name, &node,
                          fmt::format("delegate {} keeps state, but method {} also calls it",
                                      in_quotes(delegate.str()), first->name.str()),
                          "call it from one method only, or keep the state in a buffer of the methods");
      }
    }
  }
  return {};
}

Result<PlacedMethod> place_method(const Program& program, const Method& method, const State& state,
                                  const DelegateIndex& delegates, const MemoryMap& memory,
                                  const WriteOptions& options) {
  TRY(FlatMethod flat, flatten(program, method));
  const Method& straight = flat.method != nullptr ? *flat.method : method;
  TRY(Placement placement, place_values(program, straight, state, delegates, memory, options));
  return PlacedMethod{&method, std::move(flat), std::move(placement)};
}

// Adds refused nodes to `refusals`; returns any other failure.
Result<ExecutionPlan> plan_method(const Program& program, PlacedMethod& placed,
                                  internal::SharedPlanning& shared, std::vector<Refusal>& refusals) {
  internal::MethodPlanner planner(program, placed.straight(), std::move(placed.placement), shared);
  Result<ExecutionPlan> plan = planner.run();
  const FlatMethod& flat = placed.flat;
  for (RefusedNode& refused : planner.take_refused()) {
    const bool is_flat = flat.method != nullptr && refused.node != nullptr;
    const Node* node = is_flat ? flat.origins[refused.node->id()] : refused.node;
    refusals.push_back({placed.method->name, node, std::move(refused.cause)});
  }
  return plan;
}

Result<Plan> plan_methods(const Program& program, const WriteOptions& options,
                          std::vector<Refusal>& refusals) {
  internal::SharedPlanning shared{
      ConstantPool(options.ptd), {}, DelegateIndex(program), StatefulDelegates(program), options};
  TRY_STATUS(check_stateful_delegates(program, shared.stateful));
  Plan plan;
  TRY(const ValuePins pins, ask_for_pins(program, options.planner));
  TRY(const MemoryMap memory, MemoryMap::make(options, pins));
  TRY_STATUS(memory.check_known(program));
  TRY(State state, lay_out_state(program, memory, options.alloc_state));
  if (!memory.empty() && options.alloc_state)
    TRY_STATUS(choose_state_banks(program, shared.delegates, memory, options, state));
  std::vector<PlacedMethod> methods;
  bool has_places = true;
  for (const Method* method : methods_by_name(program)) {
    auto placed = place_method(program, *method, state, shared.delegates, memory, options);
    has_places = has_places && placed && placed->placement.refused.empty();
    if (placed) {
      methods.push_back(std::move(*placed));
    } else {
      refusals.push_back({method->name, nullptr, std::move(placed).error()});
    }
  }
  if (options.planner.place && has_places) TRY_STATUS(ask_for_places(methods, memory, state, options));
  for (PlacedMethod& method : methods) {
    auto execution_plan = plan_method(program, method, shared, refusals);
    if (execution_plan) {
      plan.methods.push_back(std::move(*execution_plan));
    } else {
      refusals.push_back({method.method->name, nullptr, std::move(execution_plan).error()});
    }
  }
  if (!refusals.empty()) return Failure(summary_of(refusals));
  plan.constants = std::move(shared.constants).take();
  plan.external = std::move(shared.constants).take_external();
  plan.initial_values = std::move(state.initial_values);
  const auto& [modules, own_kernels] = shared.needed;
  plan.kernel_modules.assign(modules.begin(), modules.end());
  plan.own_kernels.assign(own_kernels.begin(), own_kernels.end());
  return plan;
}

}  // namespace

Result<Plan> make_plan(const Program& program, const WriteOptions& options) {
  std::vector<Refusal> refusals;
  return make_plan(program, options, refusals);
}

Result<Plan> make_plan(const Program& program, const WriteOptions& options, std::vector<Refusal>& refusals) {
  return guarded([&]() -> Result<Plan> {
    const NameScope::Use use(names_of(program));
    return plan_methods(program, options, refusals);
  });
}

bool rename_external(Plan& plan, std::string_view name, const std::string& to) {
  const auto found = std::ranges::find_if(
      plan.external, [&](const ExternalConstant& constant) { return constant.tensor.name == name; });
  if (found == plan.external.end()) return false;
  found->tensor.name = to;
  for (ExecutionPlan& method : plan.methods) {
    for (PlanTensor& tensor : method.tensors) {
      if (tensor.is_external && tensor.name == name) tensor.name = to;
    }
  }
  return true;
}

}  // namespace depute
