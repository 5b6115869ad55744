// Erases pure nodes without users, from the end, so that their operands become dead in turn.
//
//   %y, %z = higher_order.cond(%p, @yes, @no, [%x, %w])   %y, %z: none = higher_order.cond(%p, .., [%x])
//   graph @yes(%a, %b) { ... return %c, %d }         ->   graph @yes(%a) { ... return %c, none }
//
// Control flow is erased if all its bodies are pure. In other bodies, unused results (%z above) are no longer
// computed, and operands that no body uses (%w) are no longer passed.
#include <algorithm>
#include <unordered_set>

#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "normalize/bodies/body_operands.h"
#include "normalize/passes.h"
#include "ops/control/control_flow.h"

namespace depute {
namespace {

bool is_pure(const Node& node) {
  const OpDef* def = node.def();
  return def != nullptr && (def->is_pure() || def->is(OpFlag::ControlFlow));
}

bool is_dead(const Node& node) {
  if (!is_pure(node)) return false;
  if (std::ranges::any_of(node.results(), &Value::has_uses)) return false;
  for (const Graph* graph : graphs_below(node)) {
    for (const Node& inner : graph->nodes()) {
      if (!is_pure(inner)) return false;
    }
  }
  return true;
}

// Only for cond: a loop may need an unused result in later iterations.
void drop_unused_results(Node& node) {
  if (control_flow_kind(node) != ControlFlow::Kind::Cond) return;
  std::vector<Graph*> bodies = node.bodies();
  for (std::size_t i = 0; i < node.results().size(); ++i) {
    if (node.result(i)->has_uses() || node.result(i)->type().kind == Type::Kind::None) continue;
    node.graph().set_type(*node.result(i), {});
    for (Graph* body : bodies) {
      std::vector<Argument> outputs(body->outputs().begin(), body->outputs().end());
      outputs[i] = Argument::none();
      body->set_outputs(outputs);
    }
  }
}

void drop_unused_operands(Node& node) {
  std::span<const Argument> operands = body_operands(node);
  std::vector<Graph*> bodies = node.bodies();
  std::vector<bool> keep(bodies[0]->inputs().size(), true);
  std::vector<Argument> kept;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    bool is_used =
        std::ranges::any_of(bodies, [&](Graph* body) { return body_input(node, *body, i)->has_uses(); });
    if (is_used) kept.push_back(operands[i]);
    keep[keep.size() - operands.size() + i] = is_used;
  }
  if (kept.size() == operands.size()) return;
  for (Graph* body : bodies) body->retain_inputs(keep);
  std::vector<Argument> args(node.args().begin(), node.args().end());
  args.back() = node.graph().list(kept);
  node.graph().set_args(node, args, {});
}

void clean(Graph& graph) {
  for (Node* node = graph.last(); node != nullptr;) {
    Node* previous = node->previous();
    if (is_dead(*node)) {
      graph.erase(*node);
    } else if (is_control_flow(*node)) {
      drop_unused_results(*node);
      for (Graph* body : node->bodies()) clean(*body);
      drop_unused_operands(*node);
    }
    node = previous;
  }
}

void drop_unused_bodies(Method& method) {
  std::unordered_set<const Graph*> used;
  for (const Graph* graph : graphs_of(method)) used.insert(graph);
  std::erase_if(method.bodies, [&](const auto& body) { return !used.contains(body.get()); });
}

}  // namespace

// Afterwards every pure node has users, and every input of a body is used by some body of its node.
Status remove_dead_code(Program& program, const NormalizeOptions&) {
  for (auto& method : program.methods) {
    clean(*method->graph);
    if (!method->bodies.empty()) drop_unused_bodies(*method);
  }
  return {};
}

}  // namespace depute
