// One document in each of its output formats.
#include "tools/document/document.h"

#include <gtest/gtest.h>

namespace depute::doc {
namespace {

// A heading, a list, and tables with what each format shows in its own way.
Document sample() {
  Document document{.title = "m.pte", .kicker = "Profile", .lead = "One run."};
  document.line({{"note:", Style::Strong}, {" a|b"}});
  document.blocks.emplace_back(Line{"only in text", false});
  document.heading("forward");
  document.add(
      List{.noun = "cause",
           .items = {{"aten.sort: op", {{"at", "model.py:7"}, {"", "y = sort(x)", 2}}}, {"aten.tan: op"}}});
  document.add(Table{.title = "Calls",
                     .id = "calls",
                     .noun = "call",
                     .columns = {{"Call"}, number("Runs", 6), {.name = "%", .kind = Column::Kind::Percent}},
                     .rows = {{{code("aten::tan.out"), "3", "75.0"}},
                              {.cells = {{"<part>", "model.py:7"}, "1", "25.0"}, .is_part = true},
                              {{code(""), "0", "0.0"}}}});
  return document;
}

TEST(Document, AsText) {
  EXPECT_EQ(render_text(sample()),
            "note: a|b\n"
            "only in text\n"
            "\nforward\n"
            "  1. aten.sort: op\n"
            "     at  model.py:7\n"
            "           y = sort(x)\n"
            "  2. aten.tan: op\n"
            "Calls: 3\n"
            "  aten::tan.out           3  75.0\n"
            "           . <part>       1  25.0\n"
            "             model.py:7\n"
            "                          0   0.0\n");
}

TEST(Document, TextHasTheFirstEntriesAndColors) {
  const std::string text = render_text(sample(), {.top = 1, .has_color = true});
  EXPECT_EQ(text.substr(0, text.find('\n')), "\033[1mnote:\033[0m a|b");
  EXPECT_NE(text.find("     and 1 more cause; --top 0 lists all\n"), std::string::npos);
  EXPECT_NE(text.find(". <part>"), std::string::npos);  // belongs to the first row
  EXPECT_TRUE(text.ends_with("  and 1 more; --top 0 lists all\n"));
}

TEST(Document, TextWithNamesOfColumns) {
  Document document;
  document.add(
      Table{.columns = {number("nodes", 6), {"rule"}, {.name = "hidden", .is_in_text = false}, {"ops"}},
            .rows = {{{"12", "op", "x", "aten.sort"}}, {{"3", "", "x", ""}}},
            .has_names = true});
  document.add(
      Table{.title = "By line",
            .columns = {{.name = "", .min_width = 12, .max_width = 12, .is_cut = true}, number("ms", 8)},
            .rows = {{{"a/long/path/model.py:7", "0.5"}}},
            .has_names = true,
            .indent = 0});
  EXPECT_EQ(render_text(document),
            "   nodes  rule  ops\n"
            "      12  op    aten.sort\n"
            "       3\n"
            "\nBy line             ms\n"
            "...odel.py:7       0.5\n");
}

TEST(Document, TextGroupsRowsAndPrintsLines) {
  Document document;
  document.add(Table{.title = "Moved",
                     .columns = {{"Line"}, {"Node"}},
                     .rows = {{.cells = {code("a.py:1"), "x"}, .line = "x: kept"},
                              {.cells = {code("a.py:1"), "y"}, .line = "y: moved\x1b[2J"},
                              {.cells = {code(""), "z"}, .line = "z"}},
                     .is_grouped = true});
  EXPECT_EQ(render_text(document),
            "Moved: 3\n"
            "  a.py:1\n"
            "    x: kept\n"
            "    y: moved\\x1b[2J\n"
            "  no line is known\n"
            "    z\n");
}

TEST(Document, WrapsAt80Columns) {
  Document document;
  const std::string word(30, 'a');
  document.blocks.emplace_back(Line{.text = word + " " + word + " " + word, .is_wrapped = true});
  document.add(List{.noun = "cause", .items = {{word + " " + word + " " + word}}});
  EXPECT_EQ(render_text(document), word + " " + word + "\n" + word + "\n" +  //
                                       "  1. " + word + " " + word + "\n     " + word + "\n");
}

TEST(Document, AsMarkdown) {
  EXPECT_EQ(render_markdown(sample()),
            "**note:** a\\|b\n"
            "\nonly in text\n"
            "\n### forward\n"
            "\n1. aten.sort: op\n"
            "   - at model.py:7\n"
            "   -  y = sort(x)\n"
            "1. aten.tan: op\n"
            "\n| Call | Runs | % |\n"
            "|---|---:|---:|\n"
            "| `aten::tan.out` | 3 | 75.0 |\n"
            "| \\<part\\> | 1 | 25.0 |\n"
            "|  | 0 | 0.0 |\n");
}

TEST(Document, MarkdownHas20Rows) {
  Table table{.noun = "kind", .columns = {{"kind"}}};
  table.rows.resize(21, Row{{"x"}});
  Document document;
  document.add(std::move(table));
  EXPECT_TRUE(render_markdown(document).ends_with("| x |\n\n1 kind more are not listed.\n"));
}

TEST(Document, AsPage) {
  const std::string page = render_html(sample(), "b { color: red; }\n");
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n"));
  EXPECT_NE(page.find("<title>m.pte: Profile</title>\n<style>\nb { color: red; }\n"), std::string::npos);
  EXPECT_EQ(
      page.substr(page.find("<header>")),
      "<header><p class=\"kicker\">Profile</p><h1>m.pte</h1><p id=\"written\">One run.</p></header>\n"
      "<main>\n"
      "<p class=\"dim\"><b>note:</b> a|b</p>\n"
      "<h2>forward</h2>\n"
      "<ol>\n"
      "<li>aten.sort: op<div class=\"dim\">at model.py:7</div><div class=\"dim\"> y = sort(x)</div></li>\n"
      "<li>aten.tan: op</li>\n"
      "</ol>\n"
      "<section id=\"calls\"><h2>Calls (3)</h2>\n"
      "<div class=\"scroll\"><table><thead><tr><th>Call</th><th class=\"number\">Runs</th>"
      "<th class=\"number\">%</th><th class=\"share\"></th></tr></thead><tbody>\n"
      "<tr><td data-column=\"Call\"><code>aten::tan.out</code></td>"
      "<td data-column=\"Runs\" class=\"number\">3</td><td data-column=\"%\" class=\"number\">75.0</td>"
      "<td class=\"share\"><span style=\"width:75.0%\"></span></td></tr>\n"
      "<tr class=\"part\"><td data-column=\"Call\">&lt;part><div class=\"dim\">model.py:7</div></td>"
      "<td data-column=\"Runs\" class=\"number\">1</td><td data-column=\"%\" class=\"number\">25.0</td>"
      "<td class=\"share\"><span style=\"width:25.0%\"></span></td></tr>\n"
      "<tr><td data-column=\"Call\" class=\"dim\">&ndash;</td>"
      "<td data-column=\"Runs\" class=\"number\">0</td><td data-column=\"%\" class=\"number\">0.0</td>"
      "<td class=\"share\"><span style=\"width:0.0%\"></span></td></tr>\n"
      "</tbody></table></div>\n"
      "</section>\n"
      "</main>\n</body>\n</html>\n");
}

TEST(Document, APageHasFurtherRowsBehindAClick) {
  Table table{.title = "Nodes", .columns = {{"Node"}}};
  table.rows.resize(53, Row{{"x"}});
  Document document;
  document.add(std::move(table));
  const std::string page = render_html(document, "");
  EXPECT_NE(page.find("<h2>Nodes (53)</h2>"), std::string::npos);
  EXPECT_NE(page.find("<details><summary>3 more</summary>"), std::string::npos);
}

TEST(Document, TablesAndListsWithoutEntriesAreLeftOut) {
  Document document;
  document.add(Table{.title = "Nodes", .columns = {{"Node"}}});
  document.add(List{.noun = "cause"});
  EXPECT_TRUE(document.blocks.empty());
}

TEST(Document, FindingsAsWorkflowCommands) {
  const std::vector<Finding> findings = {
      {.level = Finding::Level::Error,
       .rule = "require",
       .text = "not met: coverage>=95%",
       .file = "m,1.pt2"},
      {.rule = "xnnpack/op", .text = "aten.tan\nstays", .file = "model.py", .line = 12}};
  EXPECT_EQ(render_annotations(findings),
            "::error file=m%2C1.pt2::not met: coverage>=95%25\n"
            "::notice file=model.py,line=12::aten.tan\\nstays\n");
}

}  // namespace
}  // namespace depute::doc
