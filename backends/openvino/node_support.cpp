// Checks the op first, then its tensors: refusals name the most useful reason first.
//
//   aten.cumsum.default (%x: f32[s0, 4])    ->   dynamic-shape: f32[s0, 4] (allowed: static sizes)
#include "node_support.h"

#include <algorithm>
#include <optional>

#include "depute/program/op.h"
#include "graph_decoder.h"
#include "quantized_ops.h"

namespace depute::openvino {
namespace {

constexpr std::string_view known_types = "f32, f16, bf16, i64, i32, i8, u8, bool";

std::optional<NodeSupport> check_value(const Value& value) {
  if (!value.type().is_tensor()) return refuse("argument", str(value.type()), "tensors");
  const TensorType& type = value.tensor();
  if (!element_type(type.dtype)) return refuse("dtype", name(type.dtype), known_types);
  if (!type.is_static()) return refuse("dynamic-shape", str(type), "static sizes");
  if (type.static_numel() == 0) return refuse("zero-size", str(type), "tensors with elements");
  if (!type.is_contiguous()) return refuse("layout", str(type), "contiguous");
  return std::nullopt;
}

bool is_wide(const Value& value) {
  return value.type().is_tensor() && value.tensor().dtype == ScalarType::I64;
}

// The plugin computes i64 in 32 bits. Indices fit: index arguments, and results other than the first. Other
// i64 values may not fit.
std::optional<NodeSupport> check_integers(const Node& node) {
  if (is_quantized_op(node.op())) return std::nullopt;  // their i64 values are zero points
  const OpCall call(node);
  bool is_place = !is_wide(*node.results().front());
  for (std::size_t i = 0; i < call.args().size(); ++i) {
    const std::string_view name = call.def().args[i].name.str();
    if (name == "index" || name == "indices") continue;
    for_each_value(call.args()[i],
                   [&](const Argument& part) { is_place = is_place && !is_wide(*part.as_value()); });
  }
  if (is_place) return std::nullopt;
  return refuse("integer", "i64 values that are not indices",
                "values that fit in 32 bits (OpenVINO computes i64 as i32)");
}

std::optional<NodeSupport> check_values(const Node& node) {
  for (std::size_t i = 0; i < node.operand_count(); ++i)
    if (auto refusal = check_value(*node.operand(i))) return refusal;
  for (const Value* result : node.results()) {
    if (!result->has_uses() && node.results().size() > 1) continue;
    if (auto refusal = check_value(*result)) return refusal;
  }
  return std::nullopt;
}

}  // namespace

NodeSupport check_node(const Toolkit& toolkit, const Node& node) {
  const OpDef* def = node.def();
  if (def == nullptr || def->origin != OpOrigin::Torch) return refuse("op", node.op().str());
  if (def->is(OpFlag::ControlFlow)) return refuse("control-flow", node.op().str());
  if (def->is(OpFlag::Random)) return refuse("random", node.op().str());
  if (!toolkit.ops.contains(table_name(node.op())) && !is_quantized_op(node.op()))
    return refuse("op", node.op().str());
  if (node.results().empty()) return refuse("op", node.op().str());
  if (auto refusal = check_values(node)) return *refusal;
  if (auto refusal = check_integers(node)) return *refusal;
  return def->is(OpFlag::View) || def->is(OpFlag::MayView) ? take_if_useful() : take();
}

}  // namespace depute::openvino
