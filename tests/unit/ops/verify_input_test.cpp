// What a program from outside must not be: each fault is refused with its place, and none is trusted before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/program/op.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "ir/verify.h"
#include "ops/control/control_flow.h"
#include "ops/own_ops.h"
#include "support/check.h"
#include "tests/unit/parse.h"

namespace depute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The fault, or "sound".
std::string fault(const Program& program) {
  auto status = verify_input(program);
  return status ? "sound" : status.error().str();
}
std::string fault(const std::string& text) {
  return fault(parse(text));
}

// The fault of a method of these statements, whose input is %x: f32[2, 3].
std::string fault_of(const std::string& statements) {
  return fault("program\nmethod forward(%x: f32[2, 3]) {\n" + statements + "\n}");
}

// --- ops

TEST(VerifyInput, RefusesOpsOfTheCompilersOwn) {
  int count = 0;
  for (const OpDef* op : compiler_ops()) {
    if (op->name == delegate_call_symbol()) continue;
    ++count;
    std::string name(op->name.str());
    EXPECT_THAT(fault_of(name + "(%x)\nreturn %x"),
                HasSubstr(name + " is an op that is internal to the compiler"));
  }
  EXPECT_GE(count, 12);
}

TEST(VerifyInput, RefusesCallsThatDoNotFitTheirSchema) {
  EXPECT_EQ(fault_of("%y: f32[2, 3] = aten.relu.default(%x)\nreturn %y"), "sound");
  EXPECT_THAT(fault_of("%y: f32[2, 3] = aten.relu.default()\nreturn %y"), HasSubstr("'self' is missing"));
  EXPECT_THAT(fault_of("%y: f32[2, 3] = aten.relu.default([%x])\nreturn %y"), HasSubstr("wrong kind"));
  EXPECT_THAT(fault_of("%y: f32[2, 3] = aten.relu.default(%x, %x)\nreturn %y"), HasSubstr("at most 1"));
  EXPECT_THAT(fault_of("%y: f32[2, 3] = aten.relu.default(%x, self=%x)\nreturn %y"),
              HasSubstr("duplicate argument 'self'"));
  EXPECT_THAT(fault_of("%y: f32[2, 3] = aten.relu.default(self=%x, self=%x)\nreturn %y"),
              HasSubstr("duplicate argument 'self'"));
}

TEST(VerifyInput, RefusesResultsThatDoNotFitTheirSchema) {
  EXPECT_THAT(fault_of("aten.relu.default(%x)\nreturn %x"), HasSubstr("got 0 results; expected 1"));
  EXPECT_THAT(fault_of("%y: f32[2, 3], %z: f32[2, 3] = aten.relu.default(%x)\nreturn %y"),
              HasSubstr("got 2 results; expected 1"));
  EXPECT_THAT(fault_of("%y: sym_int = aten.relu.default(%x)\nreturn %x"),
              HasSubstr("result 0 is not a tensor"));
  EXPECT_THAT(fault_of("%y: f32[2] = aten.sym_size.int(%x, 0)\nreturn %x"),
              HasSubstr("result 0 is a tensor"));
  EXPECT_EQ(fault_of("%y: none = aten.relu.default(%x)\nreturn %x"), "sound");
}

TEST(VerifyInput, RefusesCallsThatDoNotFitTheRuleOfTheirOp) {
  auto of = [](const std::string& inputs, const std::string& node) {
    return fault("program\ndim s0 in [2, 8]\nmethod forward(" + inputs + ") {\n" + node + "\nreturn %y\n}");
  };
  EXPECT_THAT(of("%x: f32[2, 3], %i: i64[2]", "%y: f32[2] = aten.gather.default(%x, 1, %i)"),
              HasSubstr("node %y: aten.gather.default: the index has rank 1, but 'self' has rank 2"));
  EXPECT_THAT(of("%x: f32[s0, 3], %i: i64[2]", "%y: f32[s0, 3] = aten.scatter.value(%x, 1, %i, 1)"),
              HasSubstr("the index has rank 1, but 'self' has rank 2"));
  EXPECT_EQ(of("%x: f32[2, 3], %i: i64[0]", "%y: f32[2, 3] = aten.scatter.value(%x, 1, %i, 1)"), "sound");
  EXPECT_THAT(of("%x: f32[2, 3], %i: i64[2, 2]", "%y: f32[2] = aten.nll_loss.default(%x, %i)"),
              HasSubstr("targets of rank 2 do not match scores of rank 2"));
  EXPECT_THAT(of("%x: f32[2, 3]", "%y: i64[n] = aten.where.default(%x)"),
              HasSubstr("expected 2 results of rank 1"));
  EXPECT_THAT(of("%x: f32[2, 3], %m: f32[3]",
                 "%y: f32[2, 3] = aten.batch_norm.default(%x, none, none, %m, none, true, 0.1, 0.1, true)"),
              HasSubstr("'running_mean' and 'running_var' must be given together"));
  EXPECT_THAT(of("%x: f32[2, 3], %b: f32[]", "%y: i64[2, 3] = aten.bucketize.Tensor(%x, %b)"),
              HasSubstr("boundaries must have rank 1, got rank 0"));
  EXPECT_THAT(of("%x: f32[2, 3], %s: f32[2]", "%y: f32[2, 3] = aten.diagonal_scatter.default(%x, %s, 2)"),
              HasSubstr("'src' is f32[2], but the diagonal is f32[1]"));
}

TEST(VerifyInput, RefusesResultsThatTheirOpDoesNotGive) {
  auto type = [](const std::string& result) {
    return fault("program\ndim s0 in [2, 8]\nmethod forward(%x: f32[s0, 3]) {\n%y: " + result +
                 " = aten.exp.default(%x)\nreturn %y\n}");
  };
  EXPECT_EQ(type("f32[s0, 3]"), "sound");
  EXPECT_EQ(type("f32[4, 3]"), "sound");  // torch may have proved it
  EXPECT_THAT(type("f32[s0, 4]"),
              HasSubstr("%y has the type f32[s0, 4], but aten.exp.default returns f32[s0, 3]"));
  EXPECT_THAT(type("f16[s0, 3]"), HasSubstr("but aten.exp.default returns f32[s0, 3]"));
  EXPECT_THAT(type("f32[s0]"), HasSubstr("but aten.exp.default returns f32[s0, 3]"));
}

TEST(VerifyInput, TakesDimensionZeroOfATensorWithoutDimensions) {
  for (const char* call :
       {"moveaxis.int(%x, -1, 0)", "movedim.intlist(%x, [0], [-1])", "swapaxes.default(%x, 0, 0)"})
    EXPECT_EQ(fault(std::string("program\nmethod forward(%x: f32[]) {\n%y: f32[] = aten.") + call +
                    "\nreturn %y\n}"),
              "sound");
}

// torch's products and losses take tensors alone, though they promote types as operators do.
TEST(VerifyInput, RefusesANumberInTheTensorsPlace) {
  EXPECT_EQ(fault_of("%y: f32[2, 3] = aten.add.Tensor(%x, 2)\nreturn %y"), "sound");
  EXPECT_THAT(fault_of("%y: f32[2, 3] = aten.kron.default(%x, 2)\nreturn %y"),
              HasSubstr("argument 'other' has the wrong kind"));
}

TEST(VerifyInput, RefusesControlFlowWhoseBodyDoesNotFit) {
  EXPECT_THAT(fault("program\nmethod forward(%p: bool[], %x: f32[2]) {\n"
                    "graph @yes(%a: f32[2]) { return %a }\n"
                    "graph @no(%a: f32[2], %b: f32[2]) { return %a }\n"
                    "%y: f32[2] = higher_order.cond(%p, @yes, @no, [%x])\nreturn %y }"),
              HasSubstr("graph @no has 2 inputs, but gets 1 operands"));
}

// --- calls of delegates

std::string call_fault(const std::string& call) {
  return fault(
      "program\n"
      "data \"w\": f32[3] = [1, 2, 3]\n"
      "delegate d backend \"B\" {\n"
      "  original {\n"
      "    data \"w\": f32[3] = [1, 2, 3]\n"
      "    method forward(%w: f32[3] = param \"w\", %a: f32[2, 3], %n: sym_int) {\n"
      "      %y: f32[2, 3] = aten.add.Tensor(%a, %w)\n"
      "      return %y\n"
      "    }\n"
      "  }\n"
      "}\n"
      "method forward(%x: f32[2, 3], %i: i64[2, 3]) {\n" +
      call + "\nreturn %x\n}");
}

TEST(VerifyInput, TakesCallsThatFitTheirDelegate) {
  EXPECT_EQ(call_fault("%y: f32[2, 3] = delegate.call(@d, %x, 1)"), "sound");
}

TEST(VerifyInput, RefusesCallsThatDoNotFitTheirDelegate) {
  EXPECT_THAT(call_fault("%y: f32[2, 3] = delegate.call(@d, %x)"),
              HasSubstr("got 1 arguments; the delegate takes 2"));
  EXPECT_THAT(call_fault("%y: f32[2, 3] = delegate.call(@d, %i, 1)"),
              HasSubstr("argument 1 must be f32[2, 3]"));
  EXPECT_THAT(call_fault("%y: f32[2, 3] = delegate.call(@d, %x, %x)"),
              HasSubstr("argument 2 must be sym_int"));
  EXPECT_THAT(call_fault("delegate.call(@d, %x, 1)"), HasSubstr("got 0 results; the delegate returns 1"));
  EXPECT_THAT(call_fault("%y: f32[3, 3] = delegate.call(@d, %x, 1)"), HasSubstr("result 0 is f32[3, 3]"));
  EXPECT_THAT(call_fault("%y: f32[2, 3] = delegate.call(@d, %x, n=1)"), HasSubstr("keyword arguments"));
  EXPECT_THAT(call_fault("delegate.call()"), HasSubstr("first argument must be a delegate"));
  EXPECT_THAT(call_fault("delegate.call(%x)"), HasSubstr("first argument must be a delegate"));
}

TEST(VerifyInput, LooksIntoDelegates) {
  EXPECT_THAT(
      fault("program\ndelegate d backend \"B\" {\n  original {\n"
            "    method forward(%a: f32[2]) {\n      control.end_if()\n      return %a\n    }\n  }\n}\n"
            "method forward(%x: f32[2]) { return %x }"),
      HasSubstr("control.end_if is an op that is internal to the compiler"));
}

// --- programs built by a caller

// A method whose graph is %y = relu(%x), with specs.
Program relu_program() {
  return parse("program\nmethod forward(%x: f32[2]) {\n%y: f32[2] = aten.relu.default(%x)\nreturn %y\n}");
}

TEST(VerifyInput, RefusesWhatIsNull) {
  Program program = relu_program();
  program.methods.push_back(nullptr);
  EXPECT_THAT(fault(program), HasSubstr("methods is null"));
  program = relu_program();
  program.methods[0]->graph = nullptr;
  EXPECT_THAT(fault(program), HasSubstr("has no graph"));
  program = relu_program();
  program.methods[0]->bodies.push_back(nullptr);
  EXPECT_THAT(fault(program), HasSubstr("graphs is null"));
  program = relu_program();
  program.delegates.push_back(nullptr);
  EXPECT_THAT(fault(program), HasSubstr("delegates is null"));
  program = relu_program();
  program.data[Name("w")] = {};
  EXPECT_THAT(fault(program), HasSubstr("no storage"));
}

TEST(VerifyInput, RefusesADelegateWhoseProgramIsNoMethod) {
  auto original = std::make_shared<Program>();
  Program program = relu_program();
  program.delegates.push_back(
      std::make_unique<Delegate>(Delegate{.name = Name("d"), .backend_id = "B", .original = original}));
  EXPECT_THAT(fault(program), HasSubstr("must have one method, got 0"));
  original->methods.push_back(nullptr);
  EXPECT_THAT(fault(program), HasSubstr("no graph"));
}

TEST(VerifyInput, RefusesInputsAndOutputsWithoutSpecs) {
  Program program = relu_program();
  program.methods[0]->inputs.clear();
  EXPECT_THAT(fault(program), HasSubstr("1 inputs, but 0 input specs"));
  program = relu_program();
  program.methods[0]->outputs.clear();
  EXPECT_THAT(fault(program), HasSubstr("1 outputs, but 0 output specs"));
}

TEST(VerifyInput, RefusesAConstantWithoutData) {
  Program program = relu_program();
  program.methods[0]->inputs[0] = {.kind = InputSpec::Kind::Parameter, .target = Name("w")};
  EXPECT_THAT(fault(program), HasSubstr("no data \"w\""));
}

TEST(VerifyInput, RefusesAUseBeforeTheDefinition) {
  Program program = relu_program();
  Graph& graph = *program.methods[0]->graph;
  Value* y = graph.first()->result();
  graph.add(Name("aten.relu.default"), {Argument::of(y)}, {}, {{Name("z"), y->type()}});
  graph.move_before(*graph.first(), nullptr);
  EXPECT_THAT(fault(program), HasSubstr("used before it is defined"));
}

// Graphs take none, so that there is nothing to refuse.
TEST(VerifyInput, MeetsNoValuesOfAnotherGraph) {
  Program program = relu_program();
  Program other = relu_program();
  Graph& graph = *program.methods[0]->graph;
  for (Value* foreign : {other.methods[0]->graph->inputs()[0], other.methods[0]->graph->first()->result()}) {
    Argument outputs[] = {Argument::of(foreign)};
    EXPECT_THROW(graph.set_outputs(outputs), InternalError);
    EXPECT_TRUE(verify_input(program).has_value());
  }
}

TEST(VerifyInput, MeetsNoResultsOfErasedNodes) {
  Program program = relu_program();
  Graph& graph = *program.methods[0]->graph;
  Value* result = graph.first()->result();
  graph.set_outputs({});
  graph.erase(*graph.first());
  Argument outputs[] = {Argument::of(result)};
  EXPECT_THROW(graph.set_outputs(outputs), InternalError);
}

TEST(VerifyInput, RefusesABodyThatIsNotTheMethods) {
  Graph foreign(Name("foreign"));
  Program program = relu_program();
  program.methods[0]->graph->add(Name("some.op"), {Argument::of(&foreign)}, {}, {});
  EXPECT_THAT(fault(program), HasSubstr("not one of the method's graphs"));
}

// --- depth

TEST(VerifyInput, RefusesBodiesNestedTooDeep) {
  auto nested = [](std::size_t depth) {
    std::string text = "program\nmethod forward(%p: bool[], %x: f32[2]) {\n";
    for (std::size_t i = 0; i < depth; ++i) {
      std::string inner = i + 1 == depth ? "" : "some.op(@g" + std::to_string(i + 1) + ")\n";
      text += "graph @g" + std::to_string(i) + "(%a: f32[2]) {\n" + inner + "return %a\n}\n";
    }
    return text + "some.op(@g0)\nreturn %x }";
  };
  EXPECT_EQ(fault(nested(max_body_depth)), "sound");
  EXPECT_THAT(fault(nested(max_body_depth + 1)), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(fault(nested(20'000)), HasSubstr("nested deeper than 32"));
}

// Each level runs the next one twice.
TEST(VerifyInput, RefusesSharedBodiesThatBecomeTooMany) {
  auto doubled = [](int depth) {
    std::string text = "program\nmethod forward(%p: bool[], %x: f32[2]) {\n";
    for (int i = 0; i < depth; ++i) {
      std::string next = "@g" + std::to_string(i + 1);
      std::string inner = i + 1 == depth ? "" : "some.op(" + next + ", " + next + ")\n";
      text += "graph @g" + std::to_string(i) + "(%a: f32[2]) {\n" + inner + "return %a\n}\n";
    }
    return text + "some.op(@g0)\nreturn %x }";
  };
  EXPECT_EQ(fault(doubled(18)), "sound");
  EXPECT_THAT(fault(doubled(20)), HasSubstr("more than 1048576 nodes"));
  EXPECT_THAT(fault(doubled(32)), HasSubstr("more than 1048576 nodes"));
}

TEST(VerifyInput, RefusesDelegatesNestedTooDeep) {
  auto nested = [](std::size_t depth) {
    auto inner = std::make_shared<Program>(relu_program());
    for (std::size_t i = 0; i < depth; ++i) {
      auto outer = std::make_shared<Program>(relu_program());
      outer->delegates.push_back(
          std::make_unique<Delegate>(Delegate{.name = Name("d"), .backend_id = "B", .original = inner}));
      inner = std::move(outer);
    }
    return inner;
  };
  EXPECT_EQ(fault(*nested(max_delegate_depth)), "sound");
  EXPECT_THAT(fault(*nested(max_delegate_depth + 1)), HasSubstr("delegates are nested deeper than 32"));
}

TEST(VerifyInput, NoGraphHasArgumentsNestedTooDeep) {
  Graph graph;
  Argument list = graph.list({Argument::of(1)});
  for (int i = 1; i < max_argument_depth; ++i) list = graph.list({list});
  graph.add(Name("some.op"), {list}, {}, {});
  for (int i = 0; i < 1'000'000; ++i) list = graph.list({list});
  EXPECT_THROW(graph.add(Name("some.op"), {list}, {}, {}), InternalError);
}

TEST(VerifyInput, ATextNestsLessThanThat) {
  std::string open(100'000, '[');
  EXPECT_FALSE(parse_program("program method forward() { some.op(" + open).has_value());
}

}  // namespace
}  // namespace depute
