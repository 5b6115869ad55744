// What the command line knows about this backend.
#include <memory>

#include "depute/registry.h"
#include "op_rule.h"
#include "support/check.h"
#include "xnnpack_backend.h"
#include "xnnpack_partitioner.h"

namespace depute::xnnpack {
namespace {

std::vector<SupportRow> support_rows() {
  std::vector<SupportRow> rows;
  for (const OpRule* rule : all_op_rules())
    rows.push_back({std::string(rule->op), std::string(rule->conditions)});
  return rows;
}

}  // namespace

void register_backend(Registry& registry) {
  Status added = registry.add({.name = "xnnpack",
                               .description = "ExecuTorch's XnnpackBackend: f32, f16 and quantised, on CPUs",
                               .backend = std::make_unique<XnnpackBackend>(),
                               .make_partitioner = XnnpackPartitioner::make,
                               .support = support_rows,
                               .options = option_meanings()});
  CHECK(added.has_value());
}

}  // namespace depute::xnnpack
