// Ops that run graphs. Their types are those of the file; normalization checks the bodies.
#include "ops/control/control_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ops/op_table.h"
#include "support/try.h"

namespace depute {
namespace internal {

std::span<const OpLine> control_flow_ops() {
  static constexpr OpLine lines[] = {
      {"higher_order.cond(Any pred, Graph true_graph, Graph false_graph, Any operands) -> Any",
       opaque(Core | ControlFlow)},
      // The body shows which operands it writes.
      {"higher_order.while_loop(Graph cond, Graph body, Any carried, Any additional, *, Any "
       "mutated_arg_indices=None) -> Any",
       opaque(Core | ControlFlow)},
      {"higher_order.map_impl(Graph body, Any mapped, Any additional) -> Any", opaque(Core | ControlFlow)},
      {"higher_order.scan(Graph combine, Any init, Any xs, Any additional) -> Any",
       opaque(Core | ControlFlow)},
  };
  return lines;
}

}  // namespace internal

namespace {

using FlowKind = ControlFlow::Kind;

Failure broken(std::string message) {
  return failure("control_flow", "", message);
}

constexpr std::string_view mutated = "mutated_arg_indices";

// Reads the arguments by kind; each letter of `shape` is one: p predicate, g graph, c, m and o the lists.
Status take_arguments(const Node& node, std::string_view shape, ControlFlow& flow) {
  const bool is_plain = std::ranges::all_of(
      node.kwargs(), [&](const NamedArgument& argument) { return argument.name == mutated; });
  if (node.args().size() != shape.size() || !is_plain) {
    return broken(fmt::format("got {} arguments; the op takes {}", node.args().size() + node.kwargs().size(),
                              shape.size()));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Argument& argument = node.arg(i);
    bool is_graph = argument.kind == Argument::Kind::Graph;
    bool fits = shape[i] == 'p' || (shape[i] == 'g' ? is_graph : argument.is_list());
    if (!fits) return broken(fmt::format("argument {} must be a {}", i, shape[i] == 'g' ? "graph" : "list"));
    if (shape[i] == 'p') flow.predicate = argument;
    if (shape[i] == 'g') flow.bodies.push_back(argument.as_graph());
    if (shape[i] == 'c') flow.carried = argument.as_list();
    if (shape[i] == 'm') flow.mapped = argument.as_list();
    if (shape[i] == 'o') flow.operands = argument.as_list();
  }
  return {};
}

// True if element types and ranks are equal, and sizes agree as far as they are known. `given` may have
// `skipped` additional leading dimensions.
bool agrees(const TensorType& given, const TensorType& wanted, std::size_t skipped = 0) {
  if (given.dtype != wanted.dtype || given.rank() != wanted.rank() + skipped) return false;
  for (std::size_t i = 0; i < wanted.rank(); ++i) {
    const SymInt& a = given.sizes[i + skipped];
    const SymInt& b = wanted.sizes[i];
    if (a.is_constant() && b.is_constant() && a != b) return false;
  }
  return true;
}

std::string spelled(const Argument& argument) {
  return argument.is_value() ? str(argument.as_value()->type()) : "a literal";
}

Status check_inputs(const Graph& body, const ControlFlow& flow) {
  std::size_t given = flow.carried.size() + flow.mapped.size() + flow.operands.size();
  if (body.inputs().size() != given) {
    return broken(fmt::format("graph @{} has {} inputs, but gets {} operands", body.name().str(),
                              body.inputs().size(), given));
  }
  for (std::size_t i = 0; i < given; ++i) {
    const Type& wanted = body.inputs()[i]->type();
    std::size_t mapped = i - flow.carried.size();  // wraps around for carried values
    bool is_mapped = mapped < flow.mapped.size();
    const Argument& argument = i < flow.carried.size() ? flow.carried[i]
                               : is_mapped             ? flow.mapped[mapped]
                                                       : flow.operands[mapped - flow.mapped.size()];
    bool fits = fits_type(argument, wanted);
    if (is_mapped) {
      fits = argument.is_value() && argument.as_value()->type().is_tensor() && wanted.is_tensor() &&
             agrees(argument.as_value()->tensor(), wanted.tensor, 1);
    }
    if (fits) continue;
    return broken(fmt::format("input %{} of graph @{} has type {}, but gets {}",
                              body.inputs()[i]->name().str(), body.name().str(), str(wanted),
                              spelled(argument)));
  }
  return {};
}

// Checks results; those after the first `carried` ones stack the outputs of the body.
Status check_outputs(const Node& node, const Graph& body, std::size_t carried) {
  if (body.outputs().size() != node.results().size()) {
    return broken(fmt::format("graph @{} returns {} values, but the node has {} results", body.name().str(),
                              body.outputs().size(), node.results().size()));
  }
  for (std::size_t i = 0; i < body.outputs().size(); ++i) {
    const Argument& output = body.outputs()[i];
    const Type& wanted = node.result(i)->type();
    bool fits = fits_type(output, wanted);
    if (i >= carried) {
      fits = output.is_value() && output.as_value()->type().is_tensor() && wanted.is_tensor() &&
             agrees(wanted.tensor, output.as_value()->tensor(), 1);
    }
    if (fits) continue;
    return broken(fmt::format("%{} has type {}, but graph @{} returns {}", node.result(i)->name().str(),
                              str(wanted), body.name().str(), spelled(output)));
  }
  return {};
}

// Fails unless the condition is a single bool.
Status check_condition(const Argument& condition) {
  bool fits = condition.kind == Argument::Kind::Bool;
  if (condition.is_value()) {
    const Type& type = condition.as_value()->type();
    fits = type.kind == Type::Kind::SymBool || type.kind == Type::Kind::Bool;
    if (type.is_tensor()) fits = type.tensor.dtype == ScalarType::Bool && type.tensor.numel() == SymInt(1);
  }
  if (fits) return {};
  return broken(fmt::format("the condition must be a single bool, got {}", spelled(condition)));
}

// Fails unless all mapped tensors and stacked results have the same number of elements.
Status check_iterations(const Node& node, const ControlFlow& flow) {
  if (flow.mapped.empty()) return broken("at least one mapped tensor is required");
  const SymInt& iterations = flow.mapped[0].as_value()->tensor().sizes[0];
  auto check = [&](const TensorType& type) -> Status {
    const SymInt& size = type.sizes[0];
    if (!size.is_constant() || !iterations.is_constant() || size == iterations) return {};
    return broken(
        fmt::format("mapped tensors and stacked results must have the same leading size, got {} and {}",
                    iterations.value(), size.value()));
  };
  for (const Argument& mapped : flow.mapped) TRY_STATUS(check(mapped.as_value()->tensor()));
  for (std::size_t i = flow.carried.size(); i < node.results().size(); ++i) {
    TRY_STATUS(check(node.result(i)->tensor()));
  }
  return {};
}

Status check_bodies(const Node& node, const ControlFlow& flow) {
  for (const Graph* body : flow.bodies) TRY_STATUS(check_inputs(*body, flow));
  switch (flow.kind) {
    case FlowKind::Cond:
      TRY_STATUS(check_condition(flow.predicate));
      TRY_STATUS(check_outputs(node, *flow.bodies[0], node.results().size()));
      return check_outputs(node, *flow.bodies[1], node.results().size());
    case FlowKind::WhileLoop:
      if (flow.bodies[0]->outputs().size() != 1)
        return broken("the condition graph must return exactly one value");
      TRY_STATUS(check_condition(flow.bodies[0]->outputs()[0]));
      if (flow.carried.size() != node.results().size())
        return broken("the numbers of carried values and of results must be equal");
      return check_outputs(node, flow.body(), node.results().size());
    case FlowKind::Map:
    case FlowKind::Scan:
      if (flow.carried.size() > node.results().size()) return broken("more carried values than results");
      TRY_STATUS(check_outputs(node, flow.body(), flow.carried.size()));
      return check_iterations(node, flow);
  }
  return {};
}

struct Shape {
  std::string_view op;
  FlowKind kind;
  std::string_view arguments;
};
constexpr Shape shapes[] = {{"higher_order.cond", FlowKind::Cond, "pggo"},
                            {"higher_order.while_loop", FlowKind::WhileLoop, "ggco"},
                            {"higher_order.map_impl", FlowKind::Map, "gmo"},
                            {"higher_order.scan", FlowKind::Scan, "gcmo"}};

}  // namespace

bool is_control_flow(const Node& node) {
  const OpDef* def = node.def();
  return def != nullptr && def->is(OpFlag::ControlFlow);
}

std::optional<ControlFlow::Kind> control_flow_kind(const Node& node) {
  if (!is_control_flow(node)) return std::nullopt;
  auto shape = std::ranges::find(shapes, node.op().str(), &Shape::op);
  if (shape == std::end(shapes)) return std::nullopt;
  return shape->kind;
}

bool is_number(Type::Kind kind) {
  switch (kind) {
    case Type::Kind::SymInt:
    case Type::Kind::SymFloat:
    case Type::Kind::SymBool:
    case Type::Kind::Int:
    case Type::Kind::Float:
    case Type::Kind::Bool:
      return true;
    case Type::Kind::Tensor:
    case Type::Kind::None:
    case Type::Kind::CustomObj:
    case Type::Kind::Token:
    case Type::Kind::String:
      return false;
  }
  return false;
}

bool fits_type(const Argument& given, const Type& wanted) {
  if (given.is_number()) return is_number(wanted.kind);
  if (given.is_none()) return wanted.kind == Type::Kind::None;
  if (!given.is_value()) return false;
  const Type& type = given.as_value()->type();
  if (type.is_tensor() && wanted.is_tensor()) return agrees(type.tensor, wanted.tensor);
  return is_number(wanted.kind) ? is_number(type.kind) : type.kind == wanted.kind;
}

Result<ControlFlow> read_control_flow(const Node& node) {
  for (const Shape& shape : shapes) {
    if (node.op() != shape.op) continue;
    ControlFlow flow{.kind = shape.kind};
    TRY_STATUS(take_arguments(node, shape.arguments, flow));
    TRY_STATUS(check_bodies(node, flow));
    return flow;
  }
  return broken(fmt::format("unknown control-flow op {}", node.op().str()));
}

}  // namespace depute
