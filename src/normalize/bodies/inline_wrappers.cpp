// Replaces calls whose body only sets a mode by the body.
//
//   %y = higher_order.wrap_with_set_grad_enabled(false, @body, %x)    ->    %a = aten.sin.default(%x)
//   graph @body(%x) { %a = aten.sin.default(%x)  return %a }
//
// Lowered programs compute no gradients, so grad mode is irrelevant. An enabled autocast converts operands
// according to the flags of their ops. Bodies of control flow stay.
//
//   %y = higher_order.wrap_with_autocast("cpu", .bf16, true, true, @body, %x)
//   graph @body(%x: f32[4, 4]) { %m: bf16[4, 4] = aten.mm.default(%x, %x)  return %m }
//     ->
//   %c: bf16[4, 4] = aten._to_copy.default(%x, dtype=.bf16)
//   %m: bf16[4, 4] = aten.mm.default(%c, %c)
#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/builder.h"
#include "ir/copy.h"
#include "normalize/node_types.h"
#include "normalize/pass_error.h"
#include "normalize/passes.h"
#include "ops/control/control_flow.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view set_grad = "higher_order.wrap_with_set_grad_enabled";
constexpr std::string_view autocast = "higher_order.wrap_with_autocast";

// Returns the position of the body among the arguments; the operands follow it.
Result<std::size_t> body_position(const Node& node) {
  for (std::size_t i = 0; i < node.args().size(); ++i) {
    if (node.arg(i).kind == Argument::Kind::Graph) return i;
  }
  return node_error(node, "the call has no body");
}

// The mode of a wrapper. `is_set` is false if the mode around it continues (set_grad, or an autocast for a
// device other than the CPU); `type` is what an autocast converts to.
struct Mode {
  bool is_set = false;
  std::optional<ScalarType> type = std::nullopt;  // none: disabled
};

Result<Mode> mode_of(const Node& node, std::size_t body) {
  if (node.op() == set_grad) return Mode{};
  if (body < 3 || node.arg(2).kind != Argument::Kind::Bool)  // arguments: device, dtype, enabled, cache, body
    return node_error(node, "an autocast region whose 'enabled' is not constant");
  if (!node.arg(2).as_bool()) return Mode{.is_set = true};
  const Argument &device = node.arg(0), &type = node.arg(1);
  if (device.kind == Argument::Kind::String && device.as_symbol() != "cpu") return Mode{};
  const bool is_lower =
      type.kind == Argument::Kind::ScalarType &&
      (type.as_scalar_type() == ScalarType::BF16 || type.as_scalar_type() == ScalarType::F16);
  if (is_lower) return Mode{.is_set = true, .type = type.as_scalar_type()};
  return node_error(node, "autocast supports only bf16 and f16");
}

bool is_converted(const Value& value) {
  if (!value.type().is_tensor()) return false;
  const ScalarType type = value.tensor().dtype;
  return type == ScalarType::F32 || type == ScalarType::F16 || type == ScalarType::BF16;
}

// Returns the element type of the node's computation in the region; nullopt if no operand is converted.
std::optional<ScalarType> autocast_type(const Node& node, ScalarType lower) {
  const OpDef* def = node.def();
  if (def == nullptr) return std::nullopt;
  const Type* result = node.results().empty() ? nullptr : &node.result()->type();
  const bool gives_lower = result != nullptr && result->is_tensor() && result->tensor.dtype == lower;
  if (def->is(OpFlag::AutocastLower)) return gives_lower ? std::optional(lower) : std::nullopt;
  if (def->is(OpFlag::AutocastF32)) return gives_lower ? std::nullopt : std::optional(ScalarType::F32);
  if (!def->is(OpFlag::AutocastPromote)) return std::nullopt;
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    if (is_converted(*node.operand(i)) && node.operand(i)->tensor().dtype != lower) return ScalarType::F32;
  }
  return lower;
}

// Converts the node's operands like torch's autocast. The node already has the result types of the region.
Status convert_operands(Graph& graph, Node& node, ScalarType lower) {
  if (is_control_flow(node)) {
    return node_error(node, "control flow inside an autocast region is not supported",
                      "enter torch.autocast in the branches, or export the model with .to(dtype)");
  }
  if (node.def() != nullptr && node.def()->is(OpFlag::AutocastInside)) {
    return node_error(node, "autocast of an op that is converted step by step internally is not supported",
                      "disable autocast for it: torch.autocast(device, enabled=False)");
  }
  const std::optional<ScalarType> type = autocast_type(node, lower);
  for (std::size_t i = 0; type.has_value() && i < node.operand_count(); ++i) {
    Value* operand = graph.own(*node.operand(i));
    if (!is_converted(*operand) || operand->tensor().dtype == *type) continue;
    Builder builder(graph, &node);
    builder.inherit(node);
    Value* converted = builder.call("aten._to_copy.default", {operand, *type});
    if (builder.failed()) return node_error(node, builder.status().error().message);
    graph.set_operand(node, i, converted);
  }
  return {};
}

// Fails if the result types of a composite op differ from the region's: its inner conversions are unknown.
Status check_types(const Node& node) {
  const OpDef* def = node.def();
  if (def == nullptr || def->infer == nullptr) return {};
  TRY_STATUS(check_call(node));
  TRY(std::optional<std::vector<Type>> types, node_types(node));
  for (std::size_t i = 0; types.has_value() && i < types->size() && i < node.results().size(); ++i) {
    const Type &ours = (*types)[i], &theirs = node.result(i)->type();
    if (!ours.is_tensor() || !theirs.is_tensor() || ours.tensor.dtype == theirs.tensor.dtype) continue;
    return node_error(
        node,
        fmt::format("autocast changes its result from {} to {} by conversions inside of the op",
                    name(theirs.tensor.dtype), name(ours.tensor.dtype)),
        "write the op with torch.matmul and other ops that autocast converts, or disable autocast for it");
  }
  return {};
}

bool is_wrapper(const Node& node) {
  return node.op() == set_grad || node.op() == autocast;
}

// Inlines the wrappers of one graph.
class Inliner {
 public:
  explicit Inliner(Graph& graph) : graph_(graph) {}
  Status run();

 private:
  Status inline_call(Node& node);
  Result<std::vector<Argument>> copy_body(Node& node, const Graph& body, std::size_t first_operand,
                                          std::optional<ScalarType> lower);

  Graph& graph_;
  std::unordered_map<const Node*, ScalarType> inside_;  // inlined wrappers -> type of their autocast region
};

// Copies the body's nodes before `node`, and returns the replacements of the node's results.
Result<std::vector<Argument>> Inliner::copy_body(Node& node, const Graph& body, std::size_t first_operand,
                                                 std::optional<ScalarType> lower) {
  std::unordered_map<const Value*, Argument> values;
  std::size_t operands = node.args().size() - first_operand;
  if (operands != body.inputs().size())
    return node_error(node, "the body has a different number of inputs than the call has operands");
  for (std::size_t i = 0; i < operands; ++i) values[body.inputs()[i]] = node.arg(first_operand + i);
  auto map_value = [&](const Value* value) { return values.at(value); };
  const BodyMap same_bodies;
  NodeCopier copier(graph_, same_bodies);
  for (const Node& inner : body.nodes()) {
    Node* copy = copier.copy(inner, map_value);
    graph_.move_before(*copy, &node);
    for (std::size_t i = 0; i < copy->results().size(); ++i) {
      values[inner.result(i)] = Argument::of(copy->result(i));
    }
    if (!lower) continue;
    if (is_wrapper(*copy)) {
      inside_.emplace(copy, *lower);
      continue;
    }
    TRY_STATUS(convert_operands(graph_, *copy, *lower));
    TRY_STATUS(check_types(*copy));
  }
  std::vector<Argument> outputs;
  for (const Argument& output : body.outputs()) outputs.push_back(graph_.import(output, map_value));
  return outputs;
}

Status Inliner::inline_call(Node& node) {
  TRY(std::size_t position, body_position(node));
  TRY(Mode mode, mode_of(node, position));
  const auto around = inside_.find(&node);
  if (!mode.is_set && around != inside_.end()) mode.type = around->second;
  TRY(std::vector<Argument> outputs,
      copy_body(node, *node.arg(position).as_graph(), position + 1, mode.type));
  if (outputs.size() != node.results().size())
    return node_error(node, "the body returns a different number of values than the call has results");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Value& result = *node.result(i);
    if (!result.has_uses()) continue;
    if (!outputs[i].is_value()) return node_error(node, "the body returns a constant");
    graph_.replace_uses(result, graph_.own(*outputs[i].as_value()));
  }
  inside_.erase(&node);
  graph_.erase(node);
  return {};
}

// Inlines until only control flow remains. A body may contain wrappers, which are inlined later.
Status Inliner::run() {
  Node* node = graph_.first();
  while (node != nullptr) {
    Node* before = node->previous();
    Node* next = node->next();
    if (is_wrapper(*node)) {
      TRY_STATUS(inline_call(*node));
      node = before != nullptr ? before->next() : graph_.first();
      continue;
    }
    if (is_control_flow(*node) || has_bodies(*node)) {
      auto flow = read_control_flow(*node);
      if (!flow) return node_error(*node, flow.error().message);
    }
    node = next;
  }
  return {};
}

}  // namespace

// Afterwards no node wraps a body that only sets a mode (no_grad, autocast): the body replaces it, with the
// conversions of autocast. All remaining bodies belong to control flow that read_control_flow() accepts.
Status inline_wrappers(Program& program, const NormalizeOptions&) {
  for (auto& method : program.methods) {
    TRY_STATUS(Inliner(*method->graph).run());
    if (method->bodies.empty()) continue;
    for (auto& body : method->bodies) TRY_STATUS(Inliner(*body).run());
  }
  return {};
}

}  // namespace depute
