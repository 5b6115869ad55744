// Chooses the report's format by the extension of its file.
#include <algorithm>
#include <array>

#include "depute/tools/report.h"

namespace depute {

std::span<const ReportFormat> report_formats() {
  static constexpr std::array formats = {
      ReportFormat{".json", &report_json},
      ReportFormat{.ending = ".html", .write = &report_html, .has_page_facts = true},
      ReportFormat{".md", &report_markdown},
      ReportFormat{".sarif", &report_sarif},
      ReportFormat{".annotations", &report_annotations},
  };
  return formats;
}

const ReportFormat* report_format(std::string_view path) {
  const auto formats = report_formats();
  const auto found = std::ranges::find_if(
      formats, [&](const ReportFormat& format) { return path.ends_with(format.ending); });
  return found == formats.end() ? nullptr : &*found;
}

}  // namespace depute
