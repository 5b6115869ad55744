#include "depute/tools/etrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "depute/program/text.h"
#include "write/exir_program.h"

namespace depute {
namespace {

using OrderedJson = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

Program parsed_program(const char* text) {
  auto program = parse_program(text);
  EXPECT_TRUE(program) << program.error().str();
  return std::move(*program);
}

Result<OrderedJson> exir_json(const char* text, const ExirOptions& options = {}) {
  const Program program = parsed_program(text);
  return exir_program(program, *program.methods[0], options);
}

TEST(EtRecord, WritesNodesWithTheirOrigins) {
  const auto json = exir_json(R"(program
dim s0 in [1, 64]
data "fc.w.8": u16[2] = zeros

method forward(%"fc.w.8": u16[2] = buffer "fc.w.8", %x: f32[s0, 2]) {
  %a: f32[s0, 1], %b: f32[s0, 1] = aten.split.Tensor(%x, 1, 1) #3 from "model.py":7 "a.b" "split"
  %y: f32[s0, 1] = demo.unknown.default(%a, %b) #4
  return %y
}
)",
                              {.is_edge = true, .origins = {{3, "split_1"}}});
  ASSERT_TRUE(json) << json.error().str();
  const OrderedJson& graph = (*json)["graph_module"]["graph"];
  EXPECT_EQ(graph["tensor_values"]["fc_w_8"]["dtype"], 14);
  EXPECT_EQ(graph["tensor_values"]["x"]["sizes"][0]["as_expr"]["expr_str"], "s0");
  EXPECT_EQ((*json)["range_constraints"]["s0"]["max_val"], 64);
  const OrderedJson& split = graph["nodes"][0];
  EXPECT_EQ(split["target"], "executorch.exir.dialects.edge.ops.aten.split_copy.Tensor");
  EXPECT_EQ(split["outputs"][0]["as_tensors"][0]["name"], "getitem_a");
  EXPECT_EQ(split["metadata"]["debug_handle"], "3");
  EXPECT_EQ(OrderedJson::parse(split["metadata"]["from_node"].get<std::string>())[0]["name"], "split_1");
  EXPECT_THAT(split["metadata"]["nn_module_stack"].get<std::string>(), HasSubstr(";L__self__a.b,a.b,"));
  EXPECT_EQ(graph["nodes"][1]["target"], "demo.unknown.default");  // a name that torch does not look up
}

TEST(EtRecord, RefusesWhatTheFormatLacks) {
  const auto json = exir_json(R"(program
method forward(%x: u32[2]) {
  %y: u32[2] = aten.clone.default(%x)
  return %y
}
)");
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().code, "etrecord");
  EXPECT_EQ(json.error().where, "%x");
  EXPECT_THAT(json.error().message, HasSubstr("u32"));
}

TEST(EtRecord, NamesNodesByHandle) {
  const Program program = parsed_program(R"(program
method forward(%x: f32[2]) {
  %m: f32[], %i: i64[] = aten.max.dim(%x, 0) #2
  %y: f32[2] = aten.add.Tensor(%x, %m) #5
  return %y
}
)");
  EXPECT_THAT(node_names(*program.methods[0]), ElementsAre(std::pair(2U, "m_call"), std::pair(5U, "y")));
}

}  // namespace
}  // namespace depute
