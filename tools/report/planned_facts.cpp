#include "tools/report/planned_facts.h"

#include <algorithm>
#include <set>

namespace depute {

PlannedFacts planned_facts(const Plan& plan) {
  PlannedFacts facts;
  std::set<std::string> kernels;
  for (const ExecutionPlan& method : plan.methods) {
    std::uint64_t memory = 0;
    for (std::int64_t size : method.memory_sizes) memory += static_cast<std::uint64_t>(size);
    facts.memory = std::max(facts.memory, memory);
    for (const PlanOperator& op : method.operators) kernels.insert(op.str());
  }
  facts.kernels.assign(kernels.begin(), kernels.end());
  return facts;
}

}  // namespace depute
