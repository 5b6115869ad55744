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

// Recurses as deep as bodies are nested, at most max_body_depth.
Check translate_body(Emitter& emit, const Graph& body) {
  for (const Node& node : body.nodes()) {
    if (const Check refusal = translate_node(emit, node))
      return inside(body, fmt::format("%{} ({})", node.display_name(), node.op().str()), *refusal);
  }
  for (const Argument& output : body.outputs()) {
    const bool is_tensor = output.is_value() && output.as_value()->type().is_tensor();
    if (!is_tensor && !output.is_none())
      return inside(body, "a result", {"argument", print(output), "tensors"});
  }
  return {};
}

using Ids = std::vector<TensorId>;

bool have_equal_types(const TosaGraph& a, const Ids& of_a, const TosaGraph& b, const Ids& of_b) {
  return std::ranges::equal(of_a, of_b, [&](TensorId first, TensorId second) {
    return a.tensors[first].dtype == b.tensors[second].dtype &&
           a.tensors[first].shape == b.tensors[second].shape;
  });
}

// The bodies of a node, and what they take and give.
struct Flow {
  const ControlFlow& read;
  std::vector<std::unique_ptr<Emitter>> bodies;
  std::vector<Tensor> operands;
  std::vector<const Value*> read_only;  // inputs of a loop's last body that it does not change

  bool is_loop() const { return read.kind == ControlFlow::Kind::WhileLoop; }
};

// The scale of the integers that stand for a float in the bodies. A loop gives back integers of the same scale, or it carries
// floats.
std::optional<Quantization> scale_of_input(Emitter& emit, const Flow& flow, const Value& value,
                                           std::size_t i) {
  if (emit.profile() == Profile::Floats) return std::nullopt;
  const auto integers = emit.integers(value);
  if (!integers) return std::nullopt;
  const Quantization& scale = integers->quantization;
  if (i >= flow.read.carried.size()) return scale;
  const Argument& next = flow.read.body().outputs()[i];
  if (!next.is_value()) return std::nullopt;
  if (next.as_value() == flow.read.body().inputs()[i]) return scale;
  const Node* producer = next.as_value()->producer();
  const bool is_same =
      producer != nullptr && producer->op() == dequantize_op && quantization_of(*producer) == scale;
  return is_same ? std::optional(scale) : std::nullopt;
}

// Adds an input to each body: the constant itself, or an argument for an operand of the operator.
Check give(Emitter& emit, Flow& flow, std::size_t i) {
  const bool is_carried = i < flow.read.carried.size();
  const Argument& given =
      is_carried ? flow.read.carried[i] : flow.read.operands[i - flow.read.carried.size()];
  if (!given.is_value()) return Refusal{"argument", print(given), "tensors"};
  const Value& value = *given.as_value();
  const bool is_constant = !is_carried && emit.constant_data_of(value) != nullptr;
  const auto scale = is_constant ? std::nullopt : scale_of_input(emit, flow, value, i);
  // Floats would be refused as well, but not with the reason.
  if (is_carried && !scale && emit.profile() == Profile::Integers && emit.integers(value))
    return Refusal{"quantization", fmt::format("another scale of %{}", value.name().str()),
                   "integers that a loop carries in one scale"};
  for (std::size_t k = 0; k < flow.bodies.size(); ++k) {
    const Value& input = *flow.read.bodies[k]->inputs()[i];
    if (is_constant) {
      emit.bind(*flow.bodies[k], input, value);
      continue;
    }
    Check refusal = check_tensor(input.tensor());
    if (!refusal && scale) flow.bodies[k]->integer_argument(input, *scale);
    if (!refusal && !scale) refusal = flow.bodies[k]->argument(input);
    if (refusal) return inside(*flow.read.bodies[k], fmt::format("%{}", input.name().str()), *refusal);
  }
  if (is_constant) return {};
  flow.operands.push_back(emit.in_rows(scale ? emit.integers(value)->tensor : emit.input(value)));
  if (!is_carried && flow.is_loop()) flow.read_only.push_back(flow.read.body().inputs()[i]);
  return {};
}

// The scale of a result that is given as integers; nullopt for floats.
std::optional<Quantization> scale_of_result(Emitter& emit, const Flow& flow, const Value& result) {
  if (flow.is_loop()) return flow.bodies.back()->known_integers(*flow.read.body().inputs()[result.index()]);
  const auto known = [&](std::size_t k) {
    return flow.bodies[k]->known_integers(*flow.read.bodies[k]->outputs()[result.index()].as_value());
  };
  if (!known(0) || !known(1)) return std::nullopt;
  return known(0) == known(1) ? known(0) : emit.wanted(result);
}

void add_result(Emitter& body, const Value& value, const std::optional<Quantization>& scale) {
  body.add_result(scale ? body.requantize(*body.integers(value), *scale) : body.input(value));
}

Check bind_results(Emitter& emit, const Node& node, std::span<const Tensor> made,
                   std::span<const std::optional<Quantization>> scales) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const Value& result = *node.result(i);
    if (!result.type().is_tensor()) continue;
    const Tensor& tensor = made[next++];
    if (!result.has_uses()) continue;
    if (scales[i]) {
      DEPUTE_REFUSE_IF(emit.integer_result(tensor, *scales[i], i));
    } else if (result.tensor().dtype == ScalarType::I64) {
      DEPUTE_REFUSE_IF(emit.result_i64(tensor, i));
    } else {
      DEPUTE_REFUSE_IF(emit.result(tensor, i));
    }
  }
  return emit.refusal();
}

Check control_flow(Emitter& emit, const OpCall& call) {
  const Node& node = *call.node();
  if (!emit.has_control_flow())
    return Refusal{"control-flow", std::string(node.op().str()), "targets with COND_IF and WHILE_LOOP"};
  const auto read = read_control_flow(node);
  if (!read) return Refusal{"argument", read.error().str(), "bodies that fit"};
  Flow flow{.read = *read, .bodies = {}, .operands = {}, .read_only = {}};
  const bool is_loop = flow.is_loop();
  const Argument& condition = is_loop ? read->bodies.front()->outputs()[0] : read->predicate;
  if (!condition.is_value() || !condition.as_value()->type().is_tensor())
    return Refusal{"argument", print(condition), "a condition that is a tensor"};
  for (const Graph* body : read->bodies) flow.bodies.push_back(emit.for_body(*body));
  if (!is_loop) flow.operands.push_back(emit.in_rows(emit.input(*condition.as_value())));
  for (std::size_t i = 0; i < read->body().inputs().size(); ++i) DEPUTE_REFUSE_IF(give(emit, flow, i));
  for (std::size_t k = 0; k < flow.bodies.size(); ++k)
    DEPUTE_REFUSE_IF(translate_body(*flow.bodies[k], *read->bodies[k]));
  if (is_loop) add_result(*flow.bodies[0], *condition.as_value(), {});
  std::vector<std::optional<Quantization>> scales(node.results().size());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const Value& result = *node.result(i);
    if (!result.type().is_tensor()) continue;
    scales[i] = scale_of_result(emit, flow, result);
    for (std::size_t k = is_loop ? 1 : 0; k < flow.bodies.size(); ++k)
      add_result(*flow.bodies[k], *read->bodies[k]->outputs()[i].as_value(), scales[i]);
  }
  for (const Value* input : flow.read_only)
    add_result(*flow.bodies.back(), *input, flow.bodies.back()->known_integers(*input));
  std::vector<TosaGraph> graphs;
  for (std::size_t k = 0; k < flow.bodies.size(); ++k) {
    if (flow.bodies[k]->refusal()) return inside(*read->bodies[k], "a result", *flow.bodies[k]->refusal());
    graphs.push_back(flow.bodies[k]->finish());
  }
  DEPUTE_REFUSE_IF(emit.refusal());
  const TosaGraph& last = graphs.back();
  const bool is_sound = is_loop ? have_equal_types(last, last.inputs, last, last.outputs)
                                : have_equal_types(graphs[0], graphs[0].outputs, last, last.outputs);
  if (!is_sound || last.outputs.empty())
    return Refusal{"argument", std::string(node.display_name()), "results whose types do not vary"};
  const std::vector<Tensor> made =
      emit.run(is_loop ? Op::WhileLoop : Op::CondIf, flow.operands, std::move(graphs));
  return bind_results(emit, node, made, scales);
}

}  // namespace

std::span<const OpRule> control_flow() {
  static constexpr std::string_view conditions =
      "TOSA supports all nodes of the bodies; no operand is i64 in TOSA 1.0";
  static constexpr OpRule rules[] = {
      {.op = "higher_order.cond",
       .conditions = conditions,
       .op_class = OpClass::ControlFlow,
       .integers = IntegerForm::Own,
       .translate_integers = control_flow},
      {.op = "higher_order.while_loop",
       .conditions = conditions,
       .op_class = OpClass::ControlFlow,
       .integers = IntegerForm::Own,
       .translate_integers = control_flow},
  };
  return rules;
}

}  // namespace depute::tosa::ops
