// What was left to ExecuTorch's kernels, by op and reason: the lines that the summary, the Markdown and the
// SARIF report share.
//
//   %a = aten.sort.default  xnnpack: kernel     ->   2 x aten.sort.default: xnnpack: kernel,
//   %b = aten.sort.default  xnnpack: kernel          first at model.py:7
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "depute/report.h"

namespace depute {

// Leftover nodes with the same op and reason, as one line.
struct Leftovers {
  std::string op;
  std::string reason;
  SourceLocation first_source;
  std::size_t count = 0;
};

// Some backend was asked for it, and none took it.
inline bool is_leftover(const NodeReport& node) {
  return node.delegate.empty() && !node.reasons.empty();
}
// The largest first.
std::vector<Leftovers> group_leftovers(const Report& report);
// "xnnpack: dtype (i64; allowed: f32, f16)", of each backend that was asked.
std::string reasons_text(const NodeReport& node);
// "41.0 MB"
std::string bytes_text(std::uint64_t bytes);

}  // namespace depute
