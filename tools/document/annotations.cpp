// Writes findings as GitHub workflow commands:
//
//   ::error file=model.pt2::not met: coverage>=95%25 (is 92.9%25)
//   ::notice file=model.py,line=12::aten.tan.default (1 node) stays on ExecuTorch's kernels: xnnpack: op
#include <fmt/format.h>

#include "depute/program/result.h"
#include "tools/document/document.h"

namespace depute {
namespace {

// Escapes '%' and line breaks, and in properties also ':' and ','.
std::string command_text(std::string_view text, bool is_property) {
  std::string escaped;
  for (char c : printable(text)) {
    const bool is_special = c == '%' || (is_property && (c == ':' || c == ','));
    escaped += is_special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return escaped;
}

std::string_view command(Finding::Level level) {
  return level == Finding::Level::Error ? "error" : "notice";
}

}  // namespace

std::string render_annotations(std::span<const Finding> findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("::{} file={}", command(finding.level), command_text(finding.file, true));
    if (finding.line > 0) text += fmt::format(",line={}", finding.line);
    text += fmt::format("::{}\n", command_text(finding.text, false));
  }
  return text;
}

}  // namespace depute
