// What to do about a plan: changes of options, and nodes that a backend would have to take, each judged by
// planning again with it.
//
//   set layer_norm=true (--backend xnnpack:layer_norm=true)      5 -> 1 delegates, 98 -> 100 %
//   write aten.tan.default in a way that xnnpack takes            2 -> 1 delegates, 75 -> 100 %
//
// Where one line of the model has several ops that are refused, to write one of them in another way gains
// little: what all of them together would give is told, too.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "depute/compiler.h"
#include "report/page_facts.h"

namespace depute {

// Nodes that a backend refused for one reason.
struct RefusedNodes {
  std::string backend;  // as the report names it
  Symbol op;
  Verdict refusal;
};

// The partitioner as it would be if its backend took these nodes: exactly those it has no other answer for.
// One that makes no proposal stays as it is.
std::shared_ptr<const Partitioner> taking(std::shared_ptr<const Partitioner> partitioner,
                                          std::vector<RefusedNodes> nodes);

// Larger programs take a second or so each time.
inline constexpr std::size_t max_advised_nodes = 100'000;
// How many changes of each kind are tried: those that concern most nodes.
inline constexpr std::size_t max_tried = 8;

// Plans with the options; `take` says which nodes shall be taken beside, all refused by one backend.
// With `memory` also PageCounts::memory.
using PlanAgain = std::function<Result<PageCounts>(const LowerOptions& options,
                                                   std::span<const RefusedNodes> take, bool memory)>;

// The bound that is tried for sizes that have none, or a larger one.
inline constexpr std::int64_t tried_bound = 2048;

// Changes that gain something, the largest gain first. The report is that of `options`, `ranges` those of the
// program.
std::vector<Advice> advise(const Report& report, const LowerOptions& options, const Ranges& ranges,
                           const Registry& registry, const PlanAgain& plan_again);

}  // namespace depute
