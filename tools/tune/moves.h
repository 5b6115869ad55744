// The plans that a search tries: first those that need no measurement, then small changes of the best one so far.
//
//   static_plans({a, b})   ->  a and b, b and a, together, alone, none
//   changes_of(a)          ->  a:min_nodes=4, a:off=op:aten.tan.default, ...
#pragma once

#include <vector>

#include "depute/backend/registry.h"
#include "depute/tools/report.h"
#include "tools/tune/delegation_plan.h"

namespace depute {

// One step of a search: options that one backend of a plan gets, in place of those with the same key; `off` adds up.
struct PlanChange {
  std::size_t backend = 0;  // index in DelegationPlan::backends
  BackendOptions options;

  DelegationPlan applied_to(DelegationPlan plan) const;
};

// The plan that was asked for comes first.
std::vector<DelegationPlan> static_plans(const DelegationPlan& asked);

// A change of an option of a backend, or of what it must not take, an op or a module. Repeated modules (layers.0, layers.1) change
// together. `report` is that of `plan`.
std::vector<PlanChange> changes_of(const DelegationPlan& plan, const Report& report,
                                   const Registry& registry);

}  // namespace depute
