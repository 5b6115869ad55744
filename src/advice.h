// Advice for a better partitioning: changed options, or nodes that the backend should take. Each change is
// evaluated by partitioning again.
//
//   set layer_norm=true (--backend xnnpack:layer_norm=true)       5 -> 1 delegates, 98 -> 100 %
//   write aten.tan.default in a way that xnnpack takes            2 -> 1 delegates, 75 -> 100 %
//
// If one source line has several rejected ops, replacing only one of them gains little. The advice then also
// reports the gain of replacing all of them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "depute/compiler.h"
#include "report/page_facts.h"

namespace depute {

// Nodes of one op that a backend rejected for the same reason.
struct RefusedNodes {
  std::string backend;  // name in the report
  Name op;
  Verdict refusal;
};

// Returns a partitioner that behaves as if its backend took exactly these nodes. A partitioner without a
// proposal is returned unchanged.
std::shared_ptr<const Partitioner> taking(std::shared_ptr<const Partitioner> partitioner,
                                          std::vector<RefusedNodes> nodes);

// Advice is skipped for programs with more nodes, which take about a second per change.
inline constexpr std::size_t max_advised_nodes = 100'000;
// Changes tried per kind; those that concern the most nodes come first.
inline constexpr std::size_t max_tried = 8;

// Partitions again with changed options. `take` has nodes, all rejected by one backend, that are to be taken
// in addition. With `memory`, PageCounts::memory is computed, too.
using PlanAgain = std::function<Result<PageCounts>(const LowerOptions& options,
                                                   std::span<const RefusedNodes> take, bool memory)>;

// Upper bound tried for sizes without a bound or with a larger one.
inline constexpr std::int64_t tried_bound = 2048;

// Returns the changes that gain something, largest gain first. `report` must be the report of lowering with
// `options`; `ranges` are those of the program.
std::vector<Advice> advise(const Report& report, const LowerOptions& options, const Ranges& ranges,
                           const Registry& registry, const PlanAgain& plan_again);

}  // namespace depute
