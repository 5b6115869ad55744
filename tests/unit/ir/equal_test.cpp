// What equality and hashes see, and what they do not.
#include "depute/program/program.h"

#include <gtest/gtest.h>

#include "depute/program/text.h"
#include "tests/unit/colliding_bytes.h"

namespace depute {
namespace {

constexpr const char* base = R"(program
dim s0 in [1, 64]
data "w": f32[2] = [1, 2]

delegate d backend "B" {
  spec "k" = "v"
  blob "x"
  debug 0 = #1 #2
}

method forward(%w: f32[2] = buffer "w", %x: f32[s0], %k: int = value 3) {
  in_spec "in"
  graph @g(%a: f32[2]) {
    %b: f32[2] = aten.neg.default(%a)
    return %b
  }
  %y: f32[s0] = aten.add.Tensor(%x, [1, 2], alpha=2.5) !t #4
  %z: f32[s0] = delegate.call(@d, %y, @g)
  store buffer "w" = %z
  return %z
}
)";

Program parsed(std::string text, std::string_view from = {}, std::string_view to = {}) {
  if (!from.empty()) {
    std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  auto program = parse_program(text);
  EXPECT_TRUE(program) << program.error().str();
  return std::move(*program);
}

TEST(Equal, EveryChangeIsSeenAndNamed) {
  struct Change {
    const char* from;
    const char* to;
    const char* difference;
  };
  Program original = parsed(base);
  for (auto [from, to, difference] : std::initializer_list<Change>{
           {"[1, 64]", "[1, 65]", "range of dim s0"},
           {"dim s0", "dim s1", "dim s0 is only in the first"},
           {"= [1, 2]", "= [1, 3]", "elements of data \"w\""},
           {"\"w\": f32[2] = [1, 2]", "\"w\": i32[2] = [1, 2]", "type of data \"w\" f32[2] / i32[2]"},
           {"= [1, 2]", "= [1, 2] data \"v\": f32[] = [1]", "data \"v\" is only in the second"},
           {"backend \"B\"", "backend \"C\"", "delegate d: backend B / C"},
           {"= \"v\"", "= \"w\"", "delegate d: compile specs"},
           {"blob \"x\"", "blob \"y\"", "delegate d: processed bytes"},
           {"#1 #2", "#1", "delegate d: debug handle map"},
           {"method forward", "method other", "method forward, name forward / other"},
           {"buffer \"w\"", "buffer transient \"w\"", "method forward, spec of input 0 (w / w)"},
           {"value 3", "value 4", "method forward, spec of input 2 ( / )"},
           {"in_spec \"in\"", "in_spec \"out\"", "method forward, in_spec in / out"},
           {"aten.neg", "aten.abs",
            "method forward, graph @g, node %b: op aten.neg.default / aten.abs.default"},
           {"f32[s0] = aten.add", "f32[4] = aten.add",
            "method forward, node %y: type of result %y f32[s0] / f32[4]"},
           {"[1, 2], alpha", "[1, 3], alpha", "method forward, node %y: argument 1 [1, 2] / [1, 3]"},
           {"alpha=2.5", "alpha=2", "method forward, node %y: argument alpha 2.5 / 2"},
           {"alpha=2.5", "beta=2.5", "method forward, node %y: keyword alpha / beta"},
           {"!t", "!u", "method forward, node %y: tag t / u"},
           {"#4", "#5", "method forward, node %y: debug handle 4 / 5"},
           {"return %z\n}\n", "return %y\n}\n", "method forward, outputs: argument 1 %z / %y"},
           {"store buffer", "store param", "method forward, spec of output 0 (w / w)"}}) {
    Program changed = parsed(base, from, to);
    EXPECT_EQ(first_difference(original, changed), difference);
    EXPECT_NE(structural_hash(original, true), structural_hash(changed, true)) << difference;
  }
}

TEST(Equal, WhereDataLieIsNotSeen) {
  Program dense = parsed("program data \"w\": f32[2] = [1, 2]");
  Program viewed = parsed("program data \"w\": f32[2] = [7, 1, 2, 9] at 1");
  EXPECT_FALSE(first_difference(dense, viewed));
  EXPECT_EQ(structural_hash(dense, true), structural_hash(viewed, true));
  Program zeros = parsed("program data \"w\": f32[2] = zeros");
  Program written = parsed("program data \"w\": f32[2] = [0, 0]");
  EXPECT_FALSE(first_difference(zeros, written));
  EXPECT_EQ(structural_hash(zeros, true), structural_hash(written, true));
}

TEST(Equal, ElidedDataEqualWhatTheyStandFor) {
  Program whole = parsed("program data \"w\": f32[2, 2]{strides=[1, 2]} = [1, 2, 3, 4]");
  Program elided = parsed(print(whole, {.max_inline_bytes = 0}));
  EXPECT_TRUE(elided.data.begin()->second.storage->is_elided());
  EXPECT_FALSE(first_difference(whole, elided));
  EXPECT_EQ(structural_hash(whole, true), structural_hash(elided, true));
  Program other = parsed("program data \"w\": f32[2, 2]{strides=[1, 2]} = [1, 2, 3, 5]");
  EXPECT_TRUE(first_difference(other, elided));
}

TEST(Equal, HashesWithoutDataOrTagsLeaveThemOut) {
  Program original = parsed(base);
  EXPECT_EQ(structural_hash(original), structural_hash(parsed(base, "= [1, 2]", "= [1, 3]")));
  Program tagged = parsed(base, "!t", "!u");
  const Graph& a = *original.methods[0]->graph;
  const Graph& b = *tagged.methods[0]->graph;
  EXPECT_NE(structural_hash(a), structural_hash(b));
  EXPECT_EQ(structural_hash(a, false), structural_hash(b, false));
  Program body = parsed(base, "aten.neg", "aten.abs");
  EXPECT_NE(structural_hash(a, false), structural_hash(*body.methods[0]->graph, false));
}

TEST(Equal, SourcesAreNotSeen) {
  Program original = parsed(base);
  EXPECT_FALSE(first_difference(original, parsed(base, "#4", "#4 from \"m.py\":1")));
}

TEST(Equal, NansAreEqualAndZerosAreNot) {
  auto with = [](const char* number) {
    return parsed(std::string("program method f() { op(") + number + ") return }");
  };
  EXPECT_FALSE(first_difference(with("nan"), with("nan")));
  EXPECT_TRUE(first_difference(with("0.0"), with("-0.0")));
  EXPECT_TRUE(first_difference(with("1"), with("1.0")));
  EXPECT_TRUE(first_difference(with("1"), with("true")));
}

TEST(Equal, DataThatHaveOnlyTheHashInCommonDiffer) {
  const auto [first, second] = colliding_bytes();
  Program a = parsed("program\ndata \"w\": u8[4096] = zeros\nmethod forward(%x: f32[1]) {\n  return %x\n}\n");
  Program b = clone(a);
  a.data[Name("w")].storage = storage_of(first);
  b.data[Name("w")].storage = storage_of(second);
  EXPECT_EQ(structural_hash(a, true), structural_hash(b, true));
  EXPECT_EQ(first_difference(a, b), "elements of data \"w\"");
}

}  // namespace
}  // namespace depute
