#include "normalize/apply_rules.h"

#include <fmt/format.h>

#include "depute/program/builder.h"
#include "depute/program/infer.h"
#include "normalize/node_types.h"
#include "normalize/pass_error.h"
#include "ops/control/size_values.h"
#include "support/check.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr int max_steps_per_node = 100'000;  // a rule that makes its own op again is a bug

// Returns the values that replace the node's results; empty if the rule leaves the node unchanged.
Replacement replacement_of(Method& method, Graph& graph, Node& node, DecomposeFunction rule,
                           SizeValues& sizes) {
  TRY_STATUS(check_call(node));
  if (node.def()->infer != nullptr) {
    if (auto types = node_types(node); !types) return Failure(std::move(types).error());
  }
  Builder builder(graph, &node, &sizes, &method);
  builder.inherit(node);
  Replacement values = builder.run([&] { return rule(builder, OpCall(node)); });
  if (!values) return node_error(node, values.error().message, values.error().hint);
  return values;
}

// Gives the new value the sizes of the old one, which may be more precise where they are symbolic.
Status take_over_type(Graph& graph, const Node& node, const Value& old, Value& value) {
  if (value.type() == old.type()) return {};
  if (!value.type().is_tensor() || !may_agree(value.type(), old.type())) {
    return node_error(
        node, fmt::format("has the type {}, but its replacement has {}", str(old.type()), str(value.type())));
  }
  if (value.producer() != nullptr) graph.set_type(value, old.type());
  return {};
}

Status replace_results(Graph& graph, Node& node, const std::vector<Value*>& values) {
  if (values.size() != node.results().size()) {
    return node_error(node, fmt::format("has {} results; expected {}", node.results().size(), values.size()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    Value& result = *node.result(i);
    if (!result.has_uses()) continue;
    if (values[i] == nullptr) return node_error(node, "a result without a value is used");
    TRY_STATUS(take_over_type(graph, node, result, *values[i]));
    graph.replace_uses(result, values[i]);
  }
  graph.erase(node);
  return {};
}

}  // namespace

Status apply_rules(Method& method, Graph& graph, const Ranges& ranges, const RuleOfNode& rule_of) {
  SizeValues sizes(graph, &ranges);
  int steps = 0;
  const Node* last_original = nullptr;
  for (Node* node = graph.first(); node != nullptr;) {
    const DecomposeFunction rule = rule_of(*node);
    if (rule == nullptr) {
      node = node->next();
      continue;
    }
    Node* before = node->previous();
    Node* next = node->next();
    TRY(std::vector<Value*> values, replacement_of(method, graph, *node, rule, sizes));
    if (values.empty() && !node->results().empty()) {
      node = next;
      continue;
    }
    steps = next == last_original ? steps + 1 : 0;
    last_original = next;
    CHECK(steps < max_steps_per_node) << node->op().str();
    TRY_STATUS(replace_results(graph, *node, values));
    node = before != nullptr ? before->next() : graph.first();
  }
  return {};
}

}  // namespace depute
