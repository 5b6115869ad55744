// A document that a tool prints: headings, lines, lists and tables as data. Back ends write it as text,
// Markdown or an HTML page; they align, shorten and escape. A tool only builds the document:
//
//   doc::Document document;
//   document.print("{}: {}", report.input, plural(2, "node"));          model.pt2: 2 nodes
//   document.add(doc::Table{.title = "Instructions",                    Instructions: 1
//                           .columns = {{"Call"}, doc::number("Runs")},   aten::tan.out     3
//                           .rows = {{{doc::code("aten::tan.out"), "3"}}}});
//   render_text(document, {.top = 10});
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace depute {
namespace doc {

// Emphasis of a piece of text. Terminals show Strong (bold), Good (green), Warning (yellow) and Bad (red);
// Markdown and HTML show Strong and Code.
enum class Style : std::uint8_t { Plain, Code, Strong, Good, Warning, Bad };

struct Span {
  std::string text;
  Style style = Style::Plain;
};

// Text on one line. It may come from files: back ends escape it.
struct Text {
  Text() = default;
  template <std::convertible_to<std::string_view> T>
  Text(const T& text) : spans{{std::string(std::string_view(text))}} {}
  Text(Span span) : spans{std::move(span)} {}
  Text(std::initializer_list<Span> parts) : spans(parts) {}

  bool empty() const;

  std::vector<Span> spans;
};

Text code(std::string_view text);

// A heading, after an empty line. Markdown's is of level 3.
struct Heading {
  Text text;
};

struct Line {
  Text text;
  bool is_in_page = true;   // false: the page has it elsewhere, in its head for instance
  bool is_wrapped = false;  // at 80 columns
};

// "at", "model.py:12". `indent` moves the text, not the label.
struct Fact {
  std::string label;
  std::string text;
  std::size_t indent = 0;
};

struct Item {
  std::string text;
  std::vector<Fact> facts = {};
};

// Numbered items with labeled facts, wrapped at 80 columns. Text shows TextOptions::top of them.
struct List {
  std::string noun;  // name of an item: "and 3 more causes"
  std::vector<Item> items = {};
};

struct Column {
  std::string name;
  enum class Kind : std::uint8_t {
    Text,
    Number,
    Percent
  } kind = Kind::Text;  // a page draws a bar for Percent
  // Limits of the width in text, which is otherwise that of the longest cell. `is_cut` shortens cells that are
  // longer than the limit at their start.
  std::size_t min_width = 0;
  std::size_t max_width = std::string::npos;
  bool is_cut = false;
  std::string gap = "  ";  // before the column, in text
  bool is_in_text = true;
};

Column number(std::string name, std::size_t min_width = 0);

struct Cell {
  template <std::convertible_to<Text> T>
  Cell(T&& main, std::string second_line = {}, std::string color_name = {})
      : text(std::forward<T>(main)), below(std::move(second_line)), color(std::move(color_name)) {}

  Text text;
  std::string below;  // a second line
  std::string color;  // a variable of the page's style, shown beside the text: "--portable"
};

struct Row {
  std::vector<Cell> cells = {};  // at most one per column
  Text line = {};                // shown in text in place of the aligned cells
  bool is_part = false;          // belongs to the row above it
};

// Text has the title with the number of rows, or with `has_names` a line of column names, in which the title stands in place of the
// first. TextOptions::top rows follow. A table without a title is shown whole.
struct Table {
  std::string title = {};
  std::string page_title = {};  // title in a page, of a table without a title
  std::string id = {};          // id of the page's section
  std::string noun = {};        // name of a row in Markdown: "3 kinds more are not listed"
  std::vector<Column> columns = {};
  std::vector<Row> rows = {};
  bool has_names = false;   // text has a line with the columns' names
  bool is_grouped = false;  // text has a line with the first cell, above all rows with the same one
  std::size_t indent = 2;   // blanks before each row of text
};

struct Document {
  // The head of a page: "resnet.pte", "Profile", and a sentence.
  std::string title = {};
  std::string kicker = {};
  std::string lead = {};
  std::vector<std::variant<Heading, Line, List, Table>> blocks = {};

  void heading(Text text) { blocks.emplace_back(Heading{std::move(text)}); }
  void line(Text text) { blocks.emplace_back(Line{std::move(text)}); }
  template <typename... Values>
  void print(fmt::format_string<Values...> format, Values&&... values) {
    line(fmt::format(format, std::forward<Values>(values)...));
  }
  // Ignores lists and tables without entries.
  void add(List list);
  void add(Table table);
};

// Makes the rows of a table.
template <typename Items, typename MakeRow>
std::vector<Row> rows_of(const Items& items, const MakeRow& make_row) {
  std::vector<Row> rows;
  for (const auto& item : items) rows.push_back(make_row(item));
  return rows;
}

struct TextOptions {
  std::size_t top = 0;  // entries of each list and titled table; 0: all
  bool has_color = false;
};
std::string render_text(const Document& document, TextOptions options = {});

// Tables have at most 20 rows, to keep comments short.
std::string render_markdown(const Document& document);

// A self-contained page without scripts that works offline. `style` is its style sheet.
std::string render_html(const Document& document, std::string_view style);

}  // namespace doc

// A fact about a place in the model's source, for code hosts.
struct Finding {
  enum class Level : std::uint8_t { Error, Note };
  Level level = Level::Note;
  std::string rule;  // "require", a diagnostic's code, or "xnnpack/dtype"
  std::string text;
  std::string file;  // source file of the model, else the model
  std::int32_t line = 0;
};

// Workflow commands of GitHub, which shows them beside the lines of a pull request:
//
//   ::notice file=model.py,line=12::aten.tan.default (1 node) stays on ExecuTorch's kernels: xnnpack: op
std::string render_annotations(std::span<const Finding> findings);

// Escapes text between tags.
std::string escape_html(std::string_view text);
// Returns the last part of a path: "model.pt2".
std::string_view file_name(std::string_view path);

}  // namespace depute
