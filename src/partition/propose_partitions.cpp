#include "partition/propose_partitions.h"

#include <span>
#include <utility>

#include "partition/plan_together.h"

namespace depute {

NodeSupport refuse(std::string_view rule, std::string_view seen, std::string_view allowed) {
  return {Support::Unsupported,
          0,
          {.delegated = false,
           .owner = {},
           .rule = std::string(rule),
           .seen = std::string(seen),
           .allowed = std::string(allowed)}};
}

Result<PartitionResult> propose_partitions(const Program& program, const Method& method,
                                           const Proposal& proposal) {
  return plan_together(program, method, std::span(&proposal, 1));
}

Result<PartitionResult> propose_partitions(const Program& program, const Method& method,
                                           SupportFunction support, ProposeOptions options) {
  return propose_partitions(program, method, Proposal{std::move(support), std::move(options)});
}

}  // namespace depute
