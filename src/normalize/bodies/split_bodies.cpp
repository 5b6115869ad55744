// Copies bodies so that each control-flow node owns its bodies, and a change affects only that node.
//
//   %a = higher_order.cond(%p, @f, @f, [%x])      ->      %a = higher_order.cond(%p, @f, @f_1, [%x])
#include <fmt/format.h>

#include <unordered_set>

#include "ir/copy.h"
#include "normalize/pass_error.h"
#include "normalize/passes.h"
#include "ops/control/control_flow.h"
#include "support/try.h"

namespace depute {
namespace {

// Copies shared bodies of a method, and drops unused ones.
class BodyOwners {
 public:
  explicit BodyOwners(Method& method) : method_(method) {
    for (auto& body : method.bodies) {
      names_.insert(body->name());
      bodies_.emplace(body.get(), body.get());
    }
  }

  Status run() {
    graphs_.emplace_back(method_.graph.get(), 0);
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
      auto [graph, depth] = graphs_[i];
      for (Node& node : graph->nodes()) TRY_STATUS(visit(node, depth));
    }
    std::erase_if(method_.bodies, [this](const auto& body) { return !owned_.contains(body.get()); });
    return {};
  }

 private:
  Status visit(Node& node, std::size_t depth) {
    bool is_changed = false;
    std::vector<Argument> args(node.args().begin(), node.args().end());
    for (Argument& argument : args) {
      if (argument.kind != Argument::Kind::Graph) continue;
      if (depth == max_body_depth) {
        return node_error(node, fmt::format("control flow is nested deeper than {}", max_body_depth));
      }
      Graph* body = bodies_.at(argument.as_graph());
      if (!owned_.insert(body).second) {
        copied_nodes_ += 1 + body->node_count();
        if (copied_nodes_ > max_copied_nodes) {
          return node_error(node,
                            "a graph with many callers has too many nodes to be copied for each caller");
        }
        body = copy(*body);
        argument = Argument::of(body);
        is_changed = true;
        owned_.insert(body);
      }
      graphs_.emplace_back(body, depth + 1);
    }
    if (is_changed) node.graph().set_args(node, args, node.kwargs());
    return {};
  }

  Graph* copy(const Graph& body) {
    Name name = body.name();
    for (int i = 1; !names_.insert(name).second; ++i)
      name = Name::scoped(fmt::format("{}_{}", body.name().str(), i));
    method_.bodies.push_back(std::make_unique<Graph>(name, body.ops()));
    copy_graph(body, *method_.bodies.back(), {});
    return method_.bodies.back().get();
  }

  // Limits copies: a graph that runs a nested one twice, and so on, would need exponential memory.
  static constexpr std::size_t max_copied_nodes = 1'000'000;
  Method& method_;
  std::vector<std::pair<Graph*, std::size_t>> graphs_;  // with their depth, a body behind its node's graph
  BodyMap bodies_;                                      // that there were at the start, each itself
  std::unordered_set<const Graph*> owned_;
  std::unordered_set<Name> names_;
  std::size_t copied_nodes_ = 0;
};

}  // namespace

// Afterwards each body belongs to one argument of one node.
Status split_bodies(Program& program, const NormalizeOptions&) {
  for (auto& method : program.methods) {
    if (!method->bodies.empty()) TRY_STATUS(BodyOwners(*method).run());
  }
  return {};
}

}  // namespace depute
