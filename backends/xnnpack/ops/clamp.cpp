// Clamps: relu, hardtanh, clamp. fuse_clamps.cpp folds most of them into the preceding node.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

constexpr double infinity = XnnNode::infinity;

Check check_range(const NodeQuery& node, std::string_view min, std::string_view max) {
  const double low = node.has(min) ? node.call[min].as_double() : -infinity;
  const double high = node.has(max) ? node.call[max].as_double() : infinity;
  if (low == -infinity && high == infinity) return refuse_argument(node, min, "a bound");
  if (low < high) return {};
  return refuse_argument(node, max, "more than the lower bound");
}

Check check_hardtanh(const NodeQuery& node) {
  return check_range(node, "min_val", "max_val");
}

Check check_clamp(const NodeQuery& node) {
  return check_range(node, "min", "max");
}

void relu(Emitter& emit, const OpCall& call) {
  emit.result(emit.clamp(emit.input(call, "self"), 0, infinity));
}

void hardtanh(Emitter& emit, const OpCall& call) {
  emit.result(emit.clamp(emit.input(call, "self"), call["min_val"].as_double(), call["max_val"].as_double()));
}

void clamp_both(Emitter& emit, const OpCall& call) {
  const double min = call["min"].is_none() ? -infinity : call["min"].as_double();
  const double max = call["max"].is_none() ? infinity : call["max"].as_double();
  emit.result(emit.clamp(emit.input(call, "self"), min, max));
}

}  // namespace

std::span<const OpRule> clamp() {
  static constexpr Limit bounds[] = {limit::number("min"), limit::number("max")};
  static constexpr Limit values[] = {limit::number("min_val"), limit::number("max_val")};
  static constexpr OpRule rules[] = {
      {.op = "aten.clamp.default",
       .conditions = "min < max",
       .forms = {bounds},
       .check = check_clamp,
       .translate = clamp_both},
      {.op = "aten.hardtanh.default",
       .conditions = "min_val < max_val",
       .forms = {values},
       .check = check_hardtanh,
       .translate = hardtanh},
      {.op = "aten.relu.default", .translate = relu},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
