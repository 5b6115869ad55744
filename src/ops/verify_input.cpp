#include "depute/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/infer.h"
#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "ir/delegate_index.h"
#include "ir/program_names.h"
#include "ir/verify.h"
#include "ops/control/control_flow.h"
#include "ops/own_ops.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

// Maximum number of nodes after bodies are copied. Bodies may be shared and nested, and normalization copies
// them for each use, so a short text could request any number of nodes.
constexpr std::size_t max_copied_nodes = std::size_t{1} << 20;

class InputVerifier {
 public:
  Status run(const Program& program, std::size_t depth) {
    if (!programs_.insert(&program).second) return {};
    if (depth > max_delegate_depth) {
      return failure("verify", "delegates",
                     fmt::format("delegates are nested deeper than {}", max_delegate_depth));
    }
    if (auto faults = verify(program); !faults.empty()) return Failure(std::move(faults.front()));
    for (const auto& delegate : program.delegates) {
      if (delegate->original != nullptr) TRY_STATUS(run(*delegate->original, depth + 1));
    }
    return check_nodes(program);
  }

 private:
  Status check_nodes(const Program& program) {
    delegates_.emplace(program);
    for (const auto& method : program.methods) {
      method_ = method->name;
      if (!method->bodies.empty()) {
        unfolded_.clear();
        max_nodes_ = max_copied_nodes;
        for (const auto& body : method->bodies) max_nodes_ += body->node_count() + 1;
        TRY_STATUS(unfold(*method->graph, 0));
      }
      find_autocast(*method);
      TRY_STATUS(check_nodes(*method->graph));
      for (const auto& body : method->bodies) TRY_STATUS(check_nodes(*body));
    }
    return {};
  }

  // Finds bodies that an autocast runs, directly or indirectly: their element types are those after
  // conversion. They are checked when the region is inlined (normalize/bodies/inline_wrappers.cpp).
  void find_autocast(const Method& method) {
    std::vector<const Graph*> found;
    const auto add = [&](const Node& node) {
      for (const Graph* body : node.bodies()) {
        if (in_autocast_.insert(body).second) found.push_back(body);
      }
    };
    const auto look_through = [&](const Graph& graph) {
      for (const Node& node : graph.nodes()) {
        if (node.op() == "higher_order.wrap_with_autocast") add(node);
      }
    };
    in_autocast_.clear();
    if (method.bodies.empty()) return;
    look_through(*method.graph);
    for (const auto& body : method.bodies) look_through(*body);
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const Node& node : found[i]->nodes()) add(node);
    }
  }

  // Size of a graph after each use of a body has its own copy.
  struct Unfolded {
    std::size_t depth = 0;  // nesting of bodies
    std::size_t nodes = 0;  // of all bodies, including returns
  };

  Result<Unfolded> unfold(const Graph& graph, std::size_t depth) {
    if (auto found = unfolded_.find(&graph); found != unfolded_.end()) return found->second;
    if (depth > max_body_depth) return Unfolded{.depth = max_body_depth + 1};
    Unfolded result;
    for (const Node& node : graph.nodes()) {
      for (const Graph* body : node.bodies()) {
        TRY(Unfolded below, unfold(*body, depth + 1));
        result.depth = std::max(result.depth, below.depth + 1);
        result.nodes += body->node_count() + 1 + below.nodes;  // each is at most the limit
        if (depth + result.depth > max_body_depth)
          return fail(node, fmt::format("control flow is nested deeper than {}", max_body_depth));
        if (result.nodes > max_nodes_)
          return fail(node, fmt::format("its graphs expand to more than {} nodes", max_copied_nodes));
      }
    }
    return unfolded_[&graph] = result;
  }

  Status check_nodes(const Graph& graph) {
    for (const Node& node : graph.nodes()) TRY_STATUS(check(node));
    return {};
  }

  Status check(const Node& node) {
    if (node.op() != last_op_) {
      last_op_ = node.op();
      last_def_ = node.def();
    }
    const OpDef* def = last_def_;
    if (def == nullptr) return {};
    if (def->origin == OpOrigin::Compiler) return check_own(node);
    if (auto status = check_call(node, *def); !status) return fail(node, status.error().message);
    if (auto status = check_results(node, *def); !status) return fail(node, status.error().message);
    if (def->infer != nullptr) TRY_STATUS(check_types(node, *def));
    if (!def->is(OpFlag::ControlFlow)) return {};
    auto flow = read_control_flow(node);
    if (!flow) return fail(node, fmt::format("{}: {}", node.op().str(), flow.error().message));
    return {};
  }

  // Checks a call against its op's rule for result types. A rule that lacks information (about symbolic
  // sizes, for instance) rejects nothing: the node may be dead, or proved correct by torch.
  Status check_types(const Node& node, const OpDef& def) {
    const auto types = result_types(OpCall(def, node.args(), node.kwargs(), &node));
    if (!types) {
      if (types.error().code != bad_argument) return {};
      return fail(node, fmt::format("{}: {}", node.op().str(), types.error().message));
    }
    if (types->size() != node.results().size()) {
      return fail(node, fmt::format("{}: got {} results; expected {}", node.op().str(), node.results().size(),
                                    types->size()));
    }
    if (def.mutates()) return {};  // results of an in-place op may be unused placeholders
    for (std::size_t i = 0; i < types->size(); ++i) {
      Type own = node.result(i)->type();
      const bool is_converted =
          own.is_tensor() && (*types)[i].is_tensor() && in_autocast_.contains(&node.graph());
      if (is_converted) own.tensor.dtype = (*types)[i].tensor.dtype;
      if (own.kind == Type::Kind::None || may_agree(own, (*types)[i])) continue;
      return fail(node, fmt::format("%{} has the type {}, but {} returns {}", node.result(i)->name().str(),
                                    str(own), node.op().str(), str((*types)[i])));
    }
    return {};
  }

  Status check_own(const Node& node) {
    if (!is_delegate_call(node))
      return fail(node, fmt::format("{} is an op that is internal to the compiler", node.op().str()));
    bool has_name = !node.args().empty() && node.arg(0).kind == Argument::Kind::Delegate;
    if (!has_name) return fail(node, "its first argument must be a delegate");
    auto status = check_delegate_call(node, *delegates_->of(node));
    if (!status) return fail(node, status.error().message);
    return {};
  }

  Failure fail(const Node& node, std::string_view message) const {
    return node_failure(node, "verify", message, {},
                        fmt::format("method {}, node %{}", method_.str(), node.display_name()));
  }

  std::unordered_set<const Program*> programs_;  // already visited; originals may be shared
  std::optional<DelegateIndex> delegates_;       // of the current program
  std::unordered_set<const Graph*> in_autocast_;
  std::unordered_map<const Graph*, Unfolded> unfolded_;  // for the current method
  std::size_t max_nodes_ = 0;
  Name method_;
  Name last_op_;  // consecutive nodes often have the same op
  const OpDef* last_def_ = nullptr;
};

}  // namespace

Status verify_input(const Program& program) {
  return guarded([&] {
    const NameScope::Use use(names_of(program));
    return InputVerifier().run(program, 0);
  });
}

}  // namespace depute
