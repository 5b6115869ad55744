// What was left to ExecuTorch's kernels, by op and reason: the lines that the summary, the Markdown and the
// SARIF report share.
//
//   %a = aten.sort.default  xnnpack: kernel     ->   2 x aten.sort.default: xnnpack: kernel,
//   %b = aten.sort.default  xnnpack: kernel          first at model.py:7
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "depute/report.h"

namespace depute {

// What nodes cost, at the largest sizes: nothing where a size has no bound.
struct NodeCost {
  std::size_t nodes = 0;
  std::optional<std::uint64_t> macs = 0;
  std::optional<std::uint64_t> bytes = 0;  // that they read and write; nothing without Report::page, too

  void add(const Report& report, const NodeReport& node);
};
// By multiplications, then bytes, then nodes; what has no bound costs more than all that has one.
bool costs_more(const NodeCost& a, const NodeCost& b);

// Leftover nodes with the same op and reason, as one line.
struct Leftovers {
  std::string op;
  std::string reason;
  SourceLocation first_source;
  NodeCost cost;
};

// Leftover nodes that the same rules refused.
struct RefusedByRule {
  std::string rule;              // "xnnpack: dtype", of each backend that was asked
  std::vector<Leftovers> kinds;  // what costs most first
  NodeCost cost;
};

// Leftover nodes that were refused for one reason, whatever their ops and the values seen:
//   40 x aten.view.default: rule sizes, 8*u0; 3 x aten.mul.Tensor: rule sizes, 64*u0   ->   one cause
struct LeftByCause {
  std::string reason;  // "xnnpack: sizes (8*u0, 64*u0; allowed: bounded)", of each backend that was asked
  std::vector<Leftovers> kinds;  // by op, what costs most first
  NodeCost cost;
  std::vector<const NodeReport*> nodes;
};

// Some backend was asked for it, and none took it.
inline bool is_leftover(const NodeReport& node) {
  return node.delegate.empty() && !node.reasons.empty();
}
// What costs most first.
std::vector<Leftovers> group_leftovers(const Report& report);
std::vector<RefusedByRule> group_by_rule(const Report& report);
std::vector<LeftByCause> group_by_cause(const Report& report);
// "aten.sort.default, 3 x aten.tan.default and 2 more".
std::string kinds_text(const std::vector<Leftovers>& kinds);
// "12.3 M"; what has no bound is more than any number.
std::string amount_text(const std::optional<std::uint64_t>& amount, std::string_view unit);
// "xnnpack: dtype (i64; allowed: f32, f16)", of each backend that was asked.
std::string reasons_text(const NodeReport& node);
// "41.0 MB"
std::string bytes_text(std::uint64_t bytes);

}  // namespace depute
