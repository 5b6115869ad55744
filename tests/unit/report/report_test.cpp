// Requirements and the three forms of the report.
#include "depute/tools/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Report sample() {
  Report report;
  report.input = "m.pt2";
  report.nodes.push_back({.method = Name("forward"),
                          .node = Name("conv"),
                          .op = Name("aten.convolution.default"),
                          .source = {.file = Name("model.py"), .line = 3},
                          .owner = "xnnpack",
                          .delegate = Name("xnnpack0"),
                          .reasons = {}});
  report.nodes.push_back(
      {.method = Name("forward"),
       .node = Name("tan"),
       .op = Name("aten.tan.default"),
       .source = {.file = Name("model.py"), .line = 4, .module_path = Name("<head>")},
       .owner = "portable",
       .delegate = {},
       .reasons = {{"xnnpack", {.rule = "op", .seen = "aten.tan.default", .allowed = "others"}}}});
  report.delegates.push_back({.name = Name("xnnpack0"),
                              .method = Name("forward"),
                              .backend_id = "XnnpackBackend",
                              .nodes = 1,
                              .inputs = 1,
                              .outputs = 1,
                              .blob_bytes = 100,
                              .data_bytes = 20});
  report.times.push_back({"read", 1.5});
  return report;
}

std::vector<std::string> check(std::string_view text) {
  auto requirements = parse_requirements(text);
  EXPECT_TRUE(requirements.has_value()) << requirements.error().str();
  return unmet(sample(), *requirements);
}

TEST(Requirement, HoldsOrSaysWhatIs) {
  EXPECT_THAT(check(""), IsEmpty());
  EXPECT_THAT(check("coverage>=50%,partitions<=1"), IsEmpty());
  EXPECT_THAT(check(" coverage >= 50 , non_delegated == 1, delegated==1"), IsEmpty());
  EXPECT_THAT(check("coverage>=95%,partitions<=0"),
              ElementsAre("coverage>=95% (is 50.0%)", "partitions<=0 (is 1)"));
}

TEST(Requirement, WhatHasNoBoundIsMoreThanAnyLimit) {
  Report report = sample();
  report.nodes[1].macs = std::nullopt;
  report.delegates.push_back({.name = Name("xnnpack0"), .boundary_bytes = std::nullopt});
  auto requirements =
      parse_requirements("non_delegated_macs<=1e300,boundary_bytes<=1T,memory<=1T,kernels<=*");
  ASSERT_TRUE(requirements.has_value());
  EXPECT_THAT(unmet(report, *requirements),
              ElementsAre("non_delegated_macs<=1e300 (is unbounded)", "boundary_bytes<=1T (is unbounded)",
                          "memory<=1T (is not known: the program cannot be planned)",
                          "kernels<=* (is not known: the program cannot be planned)"));
}

TEST(Requirement, OfAFileIsJudgedWhenThereIsOne) {
  Report report = sample();
  report.output_bytes = 1000;
  report.external_files.push_back({.path = "m.ptd", .bytes = 48});
  auto requirements = parse_requirements("file_size<=1K,coverage:xnnpack==50%");
  ASSERT_TRUE(requirements.has_value());
  EXPECT_THAT(unmet(report, *requirements, false), IsEmpty());
  EXPECT_THAT(unmet(report, *requirements), ElementsAre("file_size<=1K (is 1.0K, 1048 bytes)"));
}

TEST(Requirement, RefusesWhatItCannotRead) {
  for (std::string_view text : {"coverage", "coverage>5", "speed>=5", "coverage>=", "coverage>=x",
                                "coverage>=-1", "partitions<=1,,coverage>=5", "coverage>=nan"}) {
    EXPECT_FALSE(parse_requirements(text).has_value()) << text;
  }
}

TEST(Report, TextHasTheLinesThatScriptsLookFor) {
  std::string text = summary_text(sample(), false);
  EXPECT_THAT(text, HasSubstr("Total delegated subgraphs: 1\n"));
  EXPECT_THAT(text, HasSubstr("Number of delegated nodes: 1\n"));
  EXPECT_THAT(text, HasSubstr("Number of non-delegated nodes: 1\n"));
  EXPECT_THAT(text, HasSubstr("1 x aten.tan.default: xnnpack: op (aten.tan.default; allowed: others)"));
}

TEST(Report, JsonTellsTheSameNumbers) {
  auto json = nlohmann::json::parse(report_json(sample()));
  EXPECT_EQ(json["totals"]["delegated_subgraphs"], 1);
  EXPECT_EQ(json["totals"]["coverage_percent"], 50.0);
  EXPECT_EQ(json["output"], nullptr);
  EXPECT_EQ(json["nodes"][0]["delegate"], "xnnpack0");
  EXPECT_EQ(json["nodes"][1]["reasons"][0]["rule"], "op");
  EXPECT_EQ(json["times_ms"]["read"], 1.5);
}

TEST(Report, HtmlEscapesTextFromTheFile) {
  Report report = sample();
  report.input = "models/<b>m.pt2";
  report.nodes[1].op = Name("</script><script>alert(1)");
  std::string html = report_html(report);
  EXPECT_THAT(html, HasSubstr("<title>&lt;b>m.pt2: lowering report</title>"));
  EXPECT_THAT(html, HasSubstr("\"\\u003c/script>\\u003cscript>alert(1)\""));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
}

TEST(Report, ExplainShowsOneNodeOrAll) {
  EXPECT_THAT(explain_text(sample(), {}), HasSubstr("%conv"));
  std::string one = explain_text(sample(), {.node = "tan"});
  EXPECT_THAT(one, HasSubstr("portable <- xnnpack: op"));
  EXPECT_THAT(one, Not(HasSubstr("%conv ")));
}

}  // namespace
}  // namespace depute
