// Control flow: COND_IF and WHILE_LOOP run graphs of their own, which take what the node gives to its bodies. Constants of
// the program become constants of the bodies that read them. What a loop only reads is carried like what it changes.
//
//   %y = higher_order.cond(%p, @yes, @no, [%x, %w])      ->   y = COND_IF(p, x) then @yes else @no
//
//   graph @body(%a, %x) { return %b }                         graph @body, inputs a, x: return b, x
//   %y = higher_order.while_loop(@test, @body, [%a], [%x])    y, y.1 = WHILE_LOOP(a, x) while @test do @body
#include "ops/control/control_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "depute/program/text.h"
#include "emitter.h"

namespace depute::tosa::ops {
namespace {

Refusal inside(const Graph& body, std::string_view place, const Refusal& refusal) {
  std::string seen = fmt::format("{} in @{}: {}", place, body.name().str(), refusal.rule);
  if (!refusal.seen.empty()) seen += fmt::format(", {}", refusal.seen);
  return {"body", std::move(seen), refusal.allowed};
}

Check translate_body(Emitter& emit, const Graph& body) {
  for (const Node& node : body.nodes()) {
    if (const Check refusal = translate_node(emit, node))
      return inside(body, fmt::format("%{} ({})", node.display_name(), node.op().str()), *refusal);
  }
  for (const Argument& output : body.outputs()) {
    if (!output.is_value() && !output.is_none())
      return inside(body, "a result", {"argument", print(output), "tensors"});
  }
  return {};
}

using Ids = std::vector<TensorId>;

bool have_equal_types(const TosaGraph& a, const Ids& of_a, const TosaGraph& b, const Ids& of_b) {
  return std::ranges::equal(of_a, of_b, [&](TensorId first, TensorId second) {
    return a.tensors[first].dtype == b.tensors[second].dtype && a.tensors[first].shape == b.tensors[second].shape;
  });
}

// The bodies of a node and what they are given.
struct Flow {
  std::vector<std::unique_ptr<Emitter>> bodies;
  std::vector<Tensor> operands;
  std::vector<const Value*> read_only;  // inputs of a loop's last body that it does not change
};

// Adds an input to each body: the constant itself, or an argument for an operand of the operator.
Check give(Emitter& emit, const ControlFlow& read, std::size_t i, Flow& flow) {
  const bool is_carried = i < read.carried.size();
  const Argument& given = is_carried ? read.carried[i] : read.operands[i - read.carried.size()];
  if (!given.is_value()) return Refusal{"argument", print(given), "tensors"};
  const Value& value = *given.as_value();
  const bool is_constant = !is_carried && emit.constant_data_of(value) != nullptr;
  for (std::size_t k = 0; k < read.bodies.size(); ++k) {
    const Value& input = *read.bodies[k]->inputs()[i];
    if (is_constant) {
      emit.bind(*flow.bodies[k], input, value);
      continue;
    }
    Check refusal = check_tensor(input.tensor());
    if (!refusal) refusal = flow.bodies[k]->argument(input);
    if (refusal) return inside(*read.bodies[k], fmt::format("%{}", input.name().str()), *refusal);
  }
  if (is_constant) return {};
  flow.operands.push_back(emit.in_rows(emit.input(value)));
  if (!is_carried && read.kind == ControlFlow::Kind::WhileLoop)
    flow.read_only.push_back(read.bodies.back()->inputs()[i]);
  return {};
}

Check control_flow(Emitter& emit, const OpCall& call) {
  if (!emit.has_control_flow())
    return Refusal{"control-flow", std::string(call.node()->op().str()), "targets with COND_IF and WHILE_LOOP"};
  const auto read = read_control_flow(*call.node());
  if (!read) return Refusal{"argument", read.error().str(), "bodies that fit"};
  const bool is_loop = read->kind == ControlFlow::Kind::WhileLoop;
  const Argument& condition = is_loop ? read->bodies.front()->outputs()[0] : read->predicate;
  if (!condition.is_value() || !condition.as_value()->type().is_tensor())
    return Refusal{"argument", print(condition), "a condition that is a tensor"};
  Flow flow;
  for (const Graph* body : read->bodies) flow.bodies.push_back(emit.for_body(*body));
  if (!is_loop) flow.operands.push_back(emit.in_rows(emit.input(*condition.as_value())));
  for (std::size_t i = 0; i < read->body().inputs().size(); ++i) DEPUTE_REFUSE_IF(give(emit, *read, i, flow));
  std::vector<TosaGraph> graphs;
  for (std::size_t k = 0; k < flow.bodies.size(); ++k) {
    Emitter& body = *flow.bodies[k];
    DEPUTE_REFUSE_IF(translate_body(body, *read->bodies[k]));
    graphs.push_back(k == 0 ? body.finish() : body.finish(flow.read_only));
    if (body.refusal()) return inside(*read->bodies[k], "a result", *body.refusal());
  }
  DEPUTE_REFUSE_IF(emit.refusal());
  const TosaGraph& last = graphs.back();
  const bool is_sound = is_loop ? have_equal_types(last, last.inputs, last, last.outputs)
                                : have_equal_types(graphs[0], graphs[0].outputs, last, last.outputs);
  if (!is_sound || last.outputs.empty())
    return Refusal{"argument", std::string(call.node()->display_name()), "results whose types do not vary"};
  const std::vector<Tensor> results = emit.run(is_loop ? Op::WhileLoop : Op::CondIf, flow.operands, std::move(graphs));
  std::size_t next = 0;
  for (std::size_t i = 0; i < call.node()->results().size(); ++i) {
    const Value& result = *call.node()->result(i);
    if (!result.type().is_tensor()) continue;
    const Tensor& made = results[next++];
    if (!result.has_uses()) continue;
    DEPUTE_REFUSE_IF(result.tensor().dtype == ScalarType::I64 ? emit.result_i64(made, i) : emit.result(made, i));
  }
  return emit.refusal();
}

}  // namespace

std::span<const OpRule> control_flow() {
  static constexpr std::string_view conditions = "TOSA supports all nodes of the bodies; no carried i64";
  static constexpr OpRule rules[] = {
      {.op = "higher_order.cond",
       .conditions = conditions,
       .op_class = OpClass::ControlFlow,
       .translate = control_flow},
      {.op = "higher_order.while_loop",
       .conditions = conditions,
       .op_class = OpClass::ControlFlow,
       .translate = control_flow},
  };
  return rules;
}

}  // namespace depute::tosa::ops
