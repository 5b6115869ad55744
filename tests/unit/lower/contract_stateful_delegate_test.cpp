// The delegation contract: delegates that keep state, lowered again. docs/contract.md names these tests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/backend/partitioner.h"
#include "depute/backend/partitioners.h"
#include "depute/program/interpret.h"
#include "lowering_testing.h"
#include "tests/unit/refusal_log.h"

namespace depute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// @counter adds up what it is given and returns the sum; @silent returns nothing; @twofold has a counter
// inside.
constexpr std::string_view delegates = R"(program
delegate counter backend "A" {
  blob "x"
  original {
    data "count": f32[1] = [0]
    method forward(%count: f32[1] = buffer "count", %x: f32[1]) {
      %next: f32[1] = aten.add.Tensor(%count, %x)
      store buffer "count" = %next
      return %next
    }
  }
}
delegate silent backend "A" {
  blob "x"
  original {
    data "count": f32[1] = [0]
    method forward(%count: f32[1] = buffer "count", %x: f32[1]) {
      %next: f32[1] = aten.add.Tensor(%count, %x)
      store buffer "count" = %next
      return
    }
  }
}
delegate twofold backend "A" {
  blob "x"
  original {
    delegate inside backend "B" {
      blob "y"
      original {
        data "count": f32[1] = [0]
        method forward(%count: f32[1] = buffer "count", %x: f32[1]) {
          %next: f32[1] = aten.add.Tensor(%count, %x)
          store buffer "count" = %next
          return %next
        }
      }
    }
    method forward(%x: f32[1]) {
      %y: f32[1] = delegate.call(@inside, %x)
      return %y
    }
  }
}
delegate pure backend "A" {
  blob "x"
  original {
    method forward(%x: f32[1]) {
      %y: f32[1] = aten.neg.default(%x)
      return %y
    }
  }
}
delegate unknown backend "A" {
  blob "x"
}
)";

Program with_delegates(std::string_view methods) {
  return parse(std::string(delegates) + std::string(methods));
}

// The first result of each call with these numbers, on one load of the program.
std::vector<float> results(const Program& program, std::initializer_list<float> calls) {
  ProgramState state;
  std::vector<float> list;
  for (float x : calls) {
    auto outputs = interpret(program, *program.methods[0], std::vector{floats({x})}, state);
    EXPECT_TRUE(outputs.has_value()) << outputs.error().str();
    if (outputs) list.push_back(first_float((*outputs)[0]));
  }
  return list;
}

Diagnostic refusal(std::string_view methods) {
  auto lowered = to_backend(with_delegates(methods), TextPartitioner(), registry_of_a_and_b());
  EXPECT_TRUE(is_refused(lowered)) << print(lowered->program);
  return lowered ? Diagnostic() : lowered.error();
}

std::string called_twice(std::string_view delegate, std::string_view first, std::string_view second) {
  return fmt::format(R"(method forward(%x: f32[1]) {{
  %a: f32[1] = delegate.call(@{0}, %x) {1} #1
  %b: f32[1] = delegate.call(@{0}, %a) {2} #2
  return %b
}}
)",
                     delegate, first, second);
}

TEST(Contract, StatefulDelegateCalledInTwoPlacesIsRefused) {
  for (const char* delegate : {"counter", "twofold", "unknown"}) {
    for (auto [first, second] : {std::pair{"!a0", ""}, {"", "!a0"}, {"!a0", "!a1"}}) {
      SCOPED_TRACE(called_twice(delegate, first, second));
      Diagnostic error = refusal(called_twice(delegate, first, second));
      EXPECT_EQ(error.code, "to_backend.split-state");
      EXPECT_THAT(error.where, HasSubstr(fmt::format("delegate '{}'", delegate)));
      EXPECT_THAT(error.message, AllOf(HasSubstr("%a"), HasSubstr("%b")));
    }
  }
  EXPECT_THAT(refusal(called_twice("counter", "!a0", "")).message,
              HasSubstr("%b (method forward, outside), %a (method forward, tag a0)"));
}

TEST(Contract, DelegateWithoutStateMayBeCalledInTwoPlaces) {
  auto lowered =
      to_backend(with_delegates(called_twice("pure", "!a0", "")), TextPartitioner(), registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  expect_sound(lowered->program);
  EXPECT_THAT(results(lowered->program, {1, 2}), ElementsAre(1, 2));
}

TEST(Contract, StatefulDelegateCalledTwiceInOnePartitionKeepsOneState) {
  for (const char* delegate : {"counter", "twofold"}) {
    Program program = with_delegates(called_twice(delegate, "!a0", "!a0"));
    auto lowered = to_backend(program, TextPartitioner(), registry_of_a_and_b());
    ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
    expect_sound(lowered->program);
    EXPECT_THAT(delegate_names(lowered->program), ElementsAre("a0"));
    EXPECT_THAT(delegate_names(*lowered->program.delegates[0]->original), ElementsAre(delegate));
    // 1 -> count 1, then 1 + 1; 2 -> 2 + 2, then 4 + 4
    EXPECT_THAT(results(program, {1, 2}), ElementsAre(2, 8));
    EXPECT_THAT(results(lowered->program, {1, 2}), ElementsAre(2, 8));
  }
}

std::string called_in_a_body(std::string_view inside, std::string_view cond, std::string_view outside) {
  return fmt::format(R"(method forward(%x: f32[1]) {{
  graph @yes(%c: f32[1]) {{
    %y: f32[1] = delegate.call(@counter, %c) {0} #1
    return %y
  }}
  graph @no(%c: f32[1]) {{
    %n: f32[1] = aten.neg.default(%c) #2
    return %n
  }}
  %p: bool[1] = aten.gt.Scalar(%x, 0) #3
  %a: f32[1] = higher_order.cond(%p, @yes, @no, [%x]) {1} #4
  %b: f32[1] = delegate.call(@counter, %a) {2} #5
  return %b
}}
)",
                     inside, cond, outside);
}

TEST(Contract, StatefulDelegateCalledInABodyAndOutsideOfItIsRefused) {
  for (auto [inside, cond, outside] : {std::tuple{"!a0", "", ""},
                                       {"", "!a0", ""},
                                       {"", "", "!a0"},
                                       {"!a0", "", "!a0"},
                                       {"", "!a0", "!a1"}}) {
    SCOPED_TRACE(called_in_a_body(inside, cond, outside));
    Diagnostic error = refusal(called_in_a_body(inside, cond, outside));
    EXPECT_EQ(error.code, "to_backend.split-state");
    EXPECT_THAT(error.message, AllOf(HasSubstr("%y"), HasSubstr("%b")));
  }
  auto whole = to_backend(with_delegates(called_in_a_body("", "!a0", "!a0")), TextPartitioner(),
                          registry_of_a_and_b());
  ASSERT_TRUE(whole.has_value()) << whole.error().str();
  EXPECT_THAT(results(whole->program, {1, 2}), ElementsAre(2, 8));
}

// The same body stays with one node and goes along with the other.
TEST(Contract, StatefulDelegateInABodyOfTwoNodesIsRefusedWhenOneIsTaken) {
  Diagnostic error = refusal(R"(method forward(%x: f32[1]) {
  graph @body(%c: f32[1]) {
    %y: f32[1] = delegate.call(@counter, %c) #1
    return %y
  }
  %p: bool[1] = aten.gt.Scalar(%x, 0) #3
  %a: f32[1] = higher_order.cond(%p, @body, @body, [%x]) !a0 #4
  %b: f32[1] = higher_order.cond(%p, @body, @body, [%a]) #5
  return %b
}
)");
  EXPECT_EQ(error.code, "to_backend.split-state");
}

TEST(Contract, StatefulDelegateOfTwoMethodsIsRefusedWhenOneIsTaken) {
  Diagnostic error = refusal(R"(method decode(%x: f32[1]) {
  %a: f32[1] = delegate.call(@counter, %x) !a0 #1
  return %a
}
method prefill(%x: f32[1]) {
  %b: f32[1] = delegate.call(@counter, %x) #2
  return %b
}
)");
  EXPECT_EQ(error.code, "to_backend.split-state");
  EXPECT_THAT(error.message, HasSubstr("%a (method decode, tag a0), %b (method prefill, outside)"));
  // A tag of the same name in each method makes two delegates.
  Program program = with_delegates(R"(method decode(%x: f32[1]) {
  %a: f32[1] = delegate.call(@counter, %x) #1
  return %a
}
method prefill(%x: f32[1]) {
  %b: f32[1] = delegate.call(@counter, %x) #2
  return %b
}
)");
  auto both = to_backend(program, WholeProgramPartitioner("a", {"A", {}}), registry_of_a_and_b());
  ASSERT_TRUE(is_refused(both));
  EXPECT_EQ(both.error().code, "to_backend.split-state");
}

// The value of a buffer with this key, wherever it is kept; each place where it is.
void find_kept(const ProgramState& state, std::string_view key, std::vector<float>& found) {
  for (const auto& [name, data] : state.data) {
    if (name == key) found.push_back(first_float(data));
  }
  for (const auto& [name, delegate] : state.delegates) find_kept(*delegate, key, found);
}
std::vector<float> kept_after(const Program& program, std::initializer_list<float> calls) {
  ProgramState state;
  for (float x : calls) {
    auto outputs = interpret(program, *program.methods[0], std::vector{floats({x})}, state);
    EXPECT_TRUE(outputs.has_value()) << outputs.error().str();
  }
  std::vector<float> found;
  find_kept(state, "count", found);
  return found;
}

TEST(Contract, CallThatOnlyChangesStateStaysWhenItIsNested) {
  Program program = with_delegates(R"(method forward(%x: f32[1]) {
  %twice: f32[1] = aten.add.Tensor(%x, %x) !a0 #1
  delegate.call(@silent, %twice) !a0 #2
  %y: f32[1] = aten.neg.default(%x) #3
  return %y
}
)");
  auto lowered = to_backend(program, TextPartitioner(), registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  expect_sound(lowered->program);
  EXPECT_EQ(op_names(*lowered->program.methods[0]->graph), "delegate.call;aten.neg.default;");
  EXPECT_THAT(lowered->program.methods[0]->graph->first()->results(), IsEmpty());
  EXPECT_THAT(kept_after(program, {1, 2}), ElementsAre(6));
  EXPECT_THAT(kept_after(lowered->program, {1, 2}), ElementsAre(6));
}

// A call whose results nobody uses, in a body whose results nobody uses.
TEST(Contract, BodyThatOnlyChangesStateStaysWhenItIsNested) {
  Program program = with_delegates(R"(method forward(%x: f32[1]) {
  graph @yes(%c: f32[1]) {
    %y: f32[1] = delegate.call(@counter, %c) #1
    return %c
  }
  graph @no(%c: f32[1]) {
    return %c
  }
  %p: bool[1] = aten.gt.Scalar(%x, 0) #3
  %a: f32[1] = higher_order.cond(%p, @yes, @no, [%x]) !a0 #4
  %y: f32[1] = aten.neg.default(%x) #5
  return %y
}
)");
  auto lowered = to_backend(program, TextPartitioner(), registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  expect_sound(lowered->program);
  EXPECT_THAT(kept_after(lowered->program, {1, 2}), ElementsAre(3));
}

TEST(Contract, CallThatNobodyNeedsDisappearsWhenItKeepsNothing) {
  auto lowered = to_backend(with_delegates(R"(method forward(%x: f32[1]) {
  %a: f32[1] = delegate.call(@pure, %x) !a0 #1
  return %x
}
)"),
                            TextPartitioner(), registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_THAT(lowered->program.delegates, IsEmpty());
}

// No value says that %second comes after %first.
std::string two_calls(std::string_view before, std::string_view after) {
  return fmt::format(R"(method forward(%x: f32[1]) {{
  %a: f32[1] = aten.add.Tensor(%x, 1) {} #1
  %first: f32[1] = delegate.call(@counter, %a) #2
  %second: f32[1] = delegate.call(@counter, %x) #3
  %b: f32[1] = aten.mul.Tensor(%second, 10) {} #4
  %c: f32[1] = aten.add.Tensor(%b, %first) #5
  return %c
}}
)",
                     before, after);
}

TEST(Contract, CallsOfAStatefulDelegateKeepTheirOrder) {
  Program program = with_delegates(two_calls("", ""));
  // count 2, then 3: 32; count 6, then 8: 86
  EXPECT_THAT(results(program, {1, 2}), ElementsAre(32, 86));
  Proposal proposal{.support =
                        [](const Node& node) {
                          return node.debug_handle == 1 || node.debug_handle == 4 ? take() : refuse("op");
                        },
                    .options = {.owner = "a", .spec = {"A", {}}}};
  auto lowered = to_backend(program, FunctionPartitioner([&](const Program& given, const Method& method) {
                              return propose_partitions(given, method, proposal);
                            }),
                            registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(lowered->verdicts.size(), 5u);
  EXPECT_THAT(results(lowered->program, {1, 2}), ElementsAre(32, 86));
  EXPECT_THAT(delegate_names(lowered->program), ElementsAre("counter", "a0", "a1"));
}

TEST(Contract, PartitionThatTurnsCallsOfAStatefulDelegateRoundIsRefused) {
  Diagnostic error = refusal(two_calls("!a0", "!a0"));
  EXPECT_EQ(error.code, "to_backend.dependency-cycle");
  EXPECT_THAT(error.message, AllOf(HasSubstr("%first"), HasSubstr("%second")));
  EXPECT_THAT(error.hint, HasSubstr("keep their order"));
}

}  // namespace
}  // namespace depute
