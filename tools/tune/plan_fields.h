// The members of a tuned plan in JSON, in a file of its own and in the data of the report's page.
#pragma once

#include "depute/tools/tuned_plan.h"
#include "support/fields.h"

namespace depute {

void fields(auto& visit, TunedTrial& trial) {
  visit("backends", trial.backends, "together", trial.together);
  visit.omit_empty("program", trial.program, "ns", trial.ns, "left_out", trial.left_out);
}

void fields(auto& visit, TunedRegion& region) {
  visit.omit_empty("lines", region.lines, "module", region.module);
  visit("ns", region.ns);
}

void fields(auto& visit, TunedPlan& plan) {
  visit("version", plan.version, "backends", plan.backends, "together", plan.together);
  visit.optional("model", plan.model, "runner", plan.runner, "threads", plan.threads, "inputs", plan.inputs,
                 "ns", plan.ns, "static_ns", plan.static_ns, "tried", plan.tried, "regions", plan.regions);
}

}  // namespace depute
