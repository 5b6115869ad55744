// Writes a document as text for a terminal.
//
//   Table, with names         By line                     ms a run      %
//                               model.py:12, 14              0.400   78.4
//                               and 3 more; --top 0 lists all
//   List                        1. aten.tan.default: xnnpack: op (2 nodes)
//                                  at  model.py:12
#include <algorithm>
#include <array>
#include <sstream>

#include "depute/program/result.h"
#include "support/number_text.h"
#include "tools/document/document.h"

namespace depute::doc {
namespace {

constexpr std::size_t line_width = 80;

// By style: Plain, Code, Strong, Good, Warning, Bad.
constexpr std::array<std::string_view, 6> escapes = {"", "", "\033[1m", "\033[32m", "\033[33m", "\033[31m"};

std::string plain_text(const Text& text) {
  std::string plain;
  for (const Span& span : text.spans) plain += printable(span.text);
  return plain;
}

// Shortens a long text at its start: the file and line are at the end.
std::string fitting(std::string text, std::size_t width) {
  if (text.size() <= width) return text;
  std::size_t start = text.size() - (width - 3);
  // UTF-8 continuation bytes
  while (start < text.size() && (static_cast<unsigned char>(text[start]) & 0xC0U) == 0x80U) ++start;
  return "..." + text.substr(start);
}

// Wraps words and indents all lines but the first. A longer word gets its own line.
std::string wrapped(std::string_view start, const std::string& text) {
  std::string out(start);
  std::size_t column = start.size();
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ' ');) {
    word = printable(word);
    if (word.empty()) continue;
    const bool is_first = column == start.size();
    const bool fits = is_first || column + 1 + word.size() <= line_width;
    if (!is_first) out += fits ? " " : "\n" + std::string(start.size(), ' ');
    column = (fits ? column + (is_first ? 0 : 1) : start.size()) + word.size();
    out += word;
  }
  return out + "\n";
}

class TextWriter {
 public:
  explicit TextWriter(TextOptions options) : options_(options) {}

  std::string run(const Document& document) {
    for (const auto& block : document.blocks) std::visit([this](const auto& each) { add(each); }, block);
    return std::move(out_);
  }

 private:
  std::string styled(const std::string& text, Style style) const {
    const std::string_view escape = escapes[static_cast<std::size_t>(style)];
    return escape.empty() || !options_.has_color ? text : fmt::format("{}{}\033[0m", escape, text);
  }

  std::string styled(const Text& text) const {
    std::string out;
    for (const Span& span : text.spans) out += styled(printable(span.text), span.style);
    return out;
  }

  void add(const Line& line) {
    out_ += line.is_wrapped ? wrapped("", plain_text(line.text)) : styled(line.text) + "\n";
  }

  void add(const Heading& heading) {
    if (!out_.empty()) out_ += '\n';
    add(Line{heading.text});
  }

  void add(const List& list) {
    const std::size_t shown = shown_of(list.items.size(), options_.top);
    for (std::size_t i = 0; i < shown; ++i) {
      out_ += wrapped(fmt::format("{:3}. ", i + 1), list.items[i].text);
      for (const Fact& fact : list.items[i].facts)
        out_ += wrapped(fmt::format("     {:<{}}", fact.label, 4 + fact.indent), fact.text);
    }
    if (const std::size_t more = list.items.size() - shown; more > 0)
      out_ += wrapped(
          "     ", fmt::format("and {} more {}{}; --top 0 lists all", more, list.noun, more == 1 ? "" : "s"));
  }

  void add(const Table& table) {
    find_widths(table);
    if (table.has_names) {
      add_names(table);
    } else if (!table.title.empty()) {
      out_ += fmt::format("{}: {}\n", table.title, table.rows.size());
    }
    const auto all = static_cast<std::size_t>(std::ranges::count(table.rows, false, &Row::is_part));
    const std::size_t shown = table.title.empty() ? all : shown_of(all, options_.top);
    std::size_t left = shown;
    std::string group;
    for (const Row& row : table.rows) {
      if (!row.is_part && left-- == 0) break;
      if (table.is_grouped) add_group(row, group, &row == table.rows.data());
      add_row(table, row);
    }
    if (all > shown) out_ += fmt::format("  and {} more; --top 0 lists all\n", all - shown);
  }

  static std::string mark_of(const Row& row, std::size_t column) {
    return row.is_part && column == 0 ? "         . " : "";
  }

  void find_widths(const Table& table) {
    widths_.clear();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const Column& column = table.columns[i];
      std::size_t width = table.has_names ? column.name.size() : 0;
      for (const Row& row : table.rows) {
        if (row.line.empty() && i < row.cells.size())
          width = std::max(width, mark_of(row, i).size() + plain_text(row.cells[i].text).size());
      }
      widths_.push_back(std::max(column.min_width, std::min(width, column.max_width)));
    }
  }

  void add_names(const Table& table) {
    Row names;
    for (const Column& column : table.columns) names.cells.emplace_back(column.name);
    if (!table.title.empty()) names.cells[0] = table.title;
    out_ += table.title.empty() ? std::string(table.indent, ' ') + cells_text(table, names) + "\n"
                                : "\n" + styled(cells_text(table, names), Style::Strong) + "\n";
  }

  void add_group(const Row& row, std::string& group, bool is_first) {
    const std::string own = plain_text(row.cells[0].text);
    if (is_first || own != group) out_ += fmt::format("  {}\n", own.empty() ? "no line is known" : own);
    group = own;
  }

  void add_row(const Table& table, const Row& row) {
    out_ += std::string(table.indent + (table.is_grouped ? 2 : 0), ' ');
    if (!row.line.empty()) return add(Line{row.line});
    out_ += cells_text(table, row) + "\n";
    if (const std::string& below = row.cells[0].below; !below.empty()) {
      const std::size_t start = row.is_part ? 13 : 9;
      out_ += std::string(start, ' ') + fitting(printable(below), line_width - 1 - start) + "\n";
    }
  }

  // Aligns the cells of a row, without blanks at its end.
  std::string cells_text(const Table& table, const Row& row) const {
    std::string text;
    std::string blanks;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const Column& column = table.columns[i];
      if (!column.is_in_text) continue;
      std::string plain = mark_of(row, i) + plain_text(row.cells[i].text);
      if (column.is_cut) plain = fitting(std::move(plain), widths_[i]);
      const bool is_text = column.kind == Column::Kind::Text;
      const std::string padded = fmt::format(fmt::runtime(is_text ? "{:<{}}" : "{:>{}}"), plain, widths_[i]);
      blanks += (i == 0 ? "" : column.gap) + (plain.empty() ? padded : "");
      if (plain.empty()) continue;
      text += std::exchange(blanks, is_text ? padded.substr(plain.size()) : "");
      text += !is_text ? padded : column.is_cut ? plain : mark_of(row, i) + styled(row.cells[i].text);
    }
    return text;
  }

  TextOptions options_;
  std::vector<std::size_t> widths_;  // of the current table's columns
  std::string out_;
};

}  // namespace

std::string render_text(const Document& document, TextOptions options) {
  return TextWriter(options).run(document);
}

}  // namespace depute::doc
