// Writes the report as one self-contained HTML page that works offline. The build embeds the files of page/;
// page_json.cpp writes the data. Scripts build the visible page from the data and insert it as text, never as
// HTML.
#include "depute/tools/report.h"
#include "tools/document/document.h"
#include "tools/report/page_parts.h"
#include "tools/report/report_fields.h"

namespace depute {
namespace {

// Escapes '<', so that the JSON can contain no tag.
std::string escape_json(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  for (char c : json) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string report_html(const Report& report) {
  std::string html;
  const std::string_view page = page_parts::frame();
  std::size_t start = 0;
  // Replaces {{part}} in the frame by the named part.
  for (std::size_t at = page.find("{{"); at != page.npos; at = page.find("{{", start)) {
    html += page.substr(start, at - start);
    const std::size_t end = page.find("}}", at);
    const std::string_view part = page.substr(at + 2, end - at - 2);
    if (part == "title") html += report.input.empty() ? "Program" : escape_html(file_name(report.input));
    if (part == "style") html += page_parts::style();
    if (part == "data") html += escape_json(page_json(report));
    if (part == "scripts") {
      for (std::string_view script : page_parts::scripts()) html += script;
    }
    start = end + 2;
  }
  return html.append(page.substr(start));
}

}  // namespace depute
