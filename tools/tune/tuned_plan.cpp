#include "depute/tools/tuned_plan.h"

#include <fmt/format.h>

#include "read/read_fields.h"
#include "read/read_program.h"
#include "support/fields.h"
#include "support/mapped_file.h"

namespace depute {

static void fields(auto& visit, TunedTrial& trial) {
  visit("backends", trial.backends, "together", trial.together);
  visit.omit_empty("program", trial.program, "ns", trial.ns, "left_out", trial.left_out);
}

static void fields(auto& visit, TunedPlan& plan) {
  visit("version", plan.version, "backends", plan.backends, "together", plan.together);
  visit.optional("model", plan.model, "runner", plan.runner, "threads", plan.threads, "inputs", plan.inputs,
                 "ns", plan.ns, "static_ns", plan.static_ns, "tried", plan.tried);
}

std::string tuned_plan_json(const TunedPlan& plan) {
  return json_document(plan);
}

Result<TunedPlan> read_tuned_plan(const std::string& path) {
  TRY(const std::shared_ptr<const MappedFile> file, open_text(path));
  TRY(const ReadLimits limits, read_limits());
  TRY(const JsonDocument document, JsonDocument::parse(EntryBytes{.bytes = file->bytes()}, path, limits));
  const Json root(document);
  TRY(const Json version, root.field("version"));
  TRY(const std::int64_t number, version.integer());
  if (number != TunedPlan().version)
    return version.fault(fmt::format("a plan of version {}", number),
                         "this version of depute reads version 1");
  TunedPlan plan;
  TRY_STATUS(read_json(root, plan));
  return plan;
}

}  // namespace depute
