// Groups undelegated nodes by op and reason, for the summary, the Markdown report and the SARIF report.
//
//   %a = aten.sort.default  xnnpack: kernel     ->   2 x aten.sort.default: xnnpack: kernel,
//   %b = aten.sort.default  xnnpack: kernel          first at model.py:7
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "depute/tools/report.h"

namespace depute {

// Cost of nodes at their largest sizes; nullopt if a size has no bound.
struct NodeCost {
  std::size_t nodes = 0;
  std::optional<std::uint64_t> macs = 0;
  std::optional<std::uint64_t> bytes = 0;  // read and written; also nullopt without Report::page

  void add(const Report& report, const NodeReport& node);
};
// Compares multiplications, then bytes, then nodes. Unbounded cost exceeds any bounded cost.
bool costs_more(const NodeCost& a, const NodeCost& b);

// Undelegated nodes with the same op and reason, as one line.
struct Undelegated {
  std::string op;
  std::string reason;
  SourceLocation first_source;
  NodeCost cost;
};

// Undelegated nodes that the same rules refused.
struct RefusedByRule {
  std::string rule;                // "xnnpack: dtype", for each backend that was asked
  std::vector<Undelegated> kinds;  // most expensive first
  NodeCost cost;
};

// Undelegated nodes that were refused for one reason, regardless of their ops and seen values:
//   40 x aten.view.default: rule sizes, 8*u0; 3 x aten.mul.Tensor: rule sizes, 64*u0   ->   one cause
struct LeftByCause {
  std::string reason;  // "xnnpack: sizes (8*u0, 64*u0; allowed: bounded)", for each backend that was asked
  std::vector<Undelegated> kinds;  // by op, most expensive first
  NodeCost cost;
  std::vector<const NodeReport*> nodes;
};

// True if at least one backend was asked for the node, and none took it.
inline bool is_undelegated(const NodeReport& node) {
  return node.delegate.empty() && !node.reasons.empty();
}
// These return the most expensive groups first.
std::vector<Undelegated> group_undelegated(const Report& report);
std::vector<RefusedByRule> group_by_rule(const Report& report);
std::vector<LeftByCause> group_by_cause(const Report& report);
// For each of Report::refusals the source of its node; empty if the cause is not a single node.
std::vector<SourceLocation> refusal_sources(const Report& report);
// "aten.sort.default, 3 x aten.tan.default and 2 more".
std::string kinds_text(const std::vector<Undelegated>& kinds);
// "xnnpack: dtype (i64; allowed: f32, f16)", for each backend that was asked.
std::string reasons_text(const NodeReport& node);

}  // namespace depute
