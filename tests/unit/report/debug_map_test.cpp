#include "tools/profile/debug_map.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "depute/program/text.h"

namespace depute {
namespace {

using Json = nlohmann::json;

Json map_of(const char* text) {
  auto program = parse_program(text);
  EXPECT_TRUE(program) << program.error().str();
  auto plan = make_plan(*program);
  EXPECT_TRUE(plan) << plan.error().str();
  return Json::parse(debug_map_json(*program, *plan, "out.pte"));
}

constexpr const char* nested = R"(program
data "b": f32[2] = zeros

delegate outer backend "Outer" {
  blob "x"
  debug 0 = #2
  debug "inner part" = #3
  original {
    delegate inner backend "Inner" {
      blob "y"
      debug 5 = #4
      original {
        method forward(%x: f32[2]) {
          %c: f32[2] = aten.cos.default(%x) #4 from "model.py":8 "a.b"
          return %c
        }
      }
    }
    method forward(%x: f32[2]) {
      %s: f32[2] = aten.sin.default(%x) #2 from "model.py":7
      %c: f32[2] = delegate.call(@inner, %s) #3
      return %c
    }
  }
}

method forward(%b: f32[2] = buffer "b", %x: f32[2]) {
  %t: f32[2] = aten.tan.default(%x) #1 from "model.py":6 "a" "tan"
  %d: f32[2] = delegate.call(@outer, %t)
  %n: f32[2] = aten.neg.default(%b)
  store buffer "b" = %d
  return %n
}
)";

TEST(DebugMap, TellsHandlesOfInstructions) {
  Json json = map_of(nested);
  EXPECT_EQ(json["program"], "out.pte");
  const Json& calls = json["methods"]["forward"]["instructions"];
  ASSERT_EQ(calls.size(), 4);
  EXPECT_EQ(calls[0],
            Json::parse(R"({"index": 0, "kind": "kernel", "name": "aten::tan.out", "handles": [1]})"));
  EXPECT_EQ(calls[2]["handles"], Json::array());  // a node without a handle
  // The store of the delegate's result comes from the node that computes it.
  EXPECT_EQ(calls[3],
            Json::parse(R"({"index": 3, "kind": "kernel", "name": "aten::copy_", "handles": [4]})"));
}

TEST(DebugMap, ADelegateStandsForAllOfItsNodesAndHasTheMapsOfThoseNestedInIt) {
  Json call = map_of(nested)["methods"]["forward"]["instructions"][1];
  EXPECT_EQ(call, Json::parse(R"({"index": 1, "kind": "delegate", "name": "Outer", "delegate": "outer",
    "handles": [2, 4],
    "delegate_map": [{"identifier": 0, "handles": [2]}, {"identifier": "inner part", "handles": [3]}],
    "delegates": [{"name": "Inner", "delegate": "inner", "handles": [4],
                   "delegate_map": [{"identifier": 5, "handles": [4]}]}]})"));
}

// The handle of a call inside, which the outer backend knows, leads to the lines of the delegate's nodes.
TEST(DebugMap, ACallLeadsToTheNodesOfItsDelegate) {
  EXPECT_EQ(map_of(nested)["handles"]["3"], Json::parse(R"({"delegate": "inner", "handles": [4]})"));
}

TEST(DebugMap, AnOpThatReplacedSeveralLeadsToAllOfThem) {
  Json json = map_of(R"(program
method forward(%x: f32[2]) {
  %t: f32[2] = aten.tan.default(%x) #2 from "m.py":2 for #1 from "m.py":1, #2 from "m.py":2
  return %t
}
)");
  EXPECT_EQ(json["methods"]["forward"]["instructions"][0]["handles"], Json::parse("[1, 2]"));
  EXPECT_EQ(json["handles"],
            Json::parse(R"({"1": {"file": "m.py", "line": 1}, "2": {"file": "m.py", "line": 2}})"));
}

TEST(DebugMap, TellsWhatIsKnownOfAHandle) {
  EXPECT_EQ(map_of(nested)["handles"], Json::parse(R"({
    "1": {"file": "model.py", "line": 6, "module": "a", "op": "tan"},
    "2": {"file": "model.py", "line": 7},
    "3": {"delegate": "inner", "handles": [4]},
    "4": {"file": "model.py", "line": 8, "module": "a.b"}})"));
}

}  // namespace
}  // namespace depute
