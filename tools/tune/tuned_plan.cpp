#include "depute/tools/tuned_plan.h"

#include <fmt/format.h>

#include "read/read_fields.h"
#include "read/read_program.h"
#include "support/mapped_file.h"
#include "tools/tune/plan_fields.h"

namespace depute {

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
