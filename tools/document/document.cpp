#include "tools/document/document.h"

#include <algorithm>

#include "depute/program/result.h"

namespace depute::doc {

bool Text::empty() const {
  return std::ranges::all_of(spans, [](const Span& span) { return span.text.empty(); });
}

Text code(std::string_view text) {
  return Span{std::string(text), Style::Code};
}

Column number(std::string name, std::size_t min_width) {
  return {.name = std::move(name), .kind = Column::Kind::Number, .min_width = min_width};
}

void Document::add(List list) {
  if (!list.items.empty()) blocks.emplace_back(std::move(list));
}

void Document::add(Table table) {
  if (!table.rows.empty()) blocks.emplace_back(std::move(table));
}

}  // namespace depute::doc

namespace depute {

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (char c : printable(text)) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>' && escaped.ends_with("]]")) {  // not allowed in XML
      escaped += "&gt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace depute
