#include "plan/flat/flatten.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "depute/program/op.h"
#include "ops/control/control_flow.h"
#include "ops/control/control_ops.h"
#include "plan/flat/parallel_set.h"
#include "plan/memory/tensor_bounds.h"
#include "support/try.h"

namespace depute {
namespace {

using Arguments = std::vector<Argument>;

Type number_type(Type::Kind kind) {
  return sym_type(kind, nullptr);
}

class Flattener {
 public:
  Flattener(const Program& program, const Method& method)
      : program_(program), method_(method), flat_(std::make_unique<Method>()) {}

  Result<FlatMethod> run() {
    flat_->name = method_.name;
    flat_->graph = std::make_unique<Graph>(method_.graph->name(), method_.graph->ops());
    flat_->inputs = method_.inputs;
    flat_->outputs = method_.outputs;
    flat_->in_spec = method_.in_spec;
    flat_->out_spec = method_.out_spec;
    Scope scope;
    for (const Value* input : method_.graph->inputs()) {
      scope.values[input] = Argument::of(graph().add_input(input->name(), input->type()));
    }
    TRY(Arguments outputs, add_graph(*method_.graph, scope));
    graph().set_outputs(outputs);
    return FlatMethod{std::move(flat_), std::move(origins_)};
  }

 private:
  // A graph that is being inlined: the replacements of its values, and the prefix of their names.
  struct Scope {
    std::unordered_map<const Value*, Argument> values;
    std::string prefix;
    std::size_t depth = 0;
    const Node* node = nullptr;  // the current node
  };

  Graph& graph() { return *flat_->graph; }
  Failure fail(const Scope& scope, std::string_view message, std::string_view hint = {}) {
    return plan_error(method_.name, scope.node, message, hint);
  }

  Argument mapped(const Argument& argument, const Scope& scope) {
    return graph().import(argument, [&](const Value* value) { return scope.values.at(value); });
  }
  Arguments mapped(std::span<const Argument> arguments, const Scope& scope) {
    Arguments result;
    for (const Argument& argument : arguments) result.push_back(mapped(argument, scope));
    return result;
  }

  // --- new nodes for the current node

  Node* add(Scope& scope, Name op, std::span<const Argument> args, std::span<const NamedArgument> kwargs = {},
            std::span<const ResultSpec> results = {}) {
    Node* node = graph().add(op, args, kwargs, results);
    origins_.resize(graph().node_ids());
    origins_[node->id()] = scope.node;
    node->debug_handle = scope.node->debug_handle;
    if (scope.node->source != nullptr) node->source = graph().add_source(*scope.node->source);
    node->replaced = graph().add_origins(scope.node->replaced);
    return node;
  }
  void mark(Scope& scope, ControlOp op, std::initializer_list<Argument> args = {}) {
    add(scope, control_symbol(op), std::span(args.begin(), args.size()));
  }
  Argument value(Scope& scope, std::string_view op, std::initializer_list<Argument> args,
                 std::string_view name, Type type) {
    ResultSpec result{Name::scoped(fmt::format("{}{}.{}", scope.prefix, scope.node->display_name(), name)),
                      std::move(type)};
    return Argument::of(
        add(scope, Name(op), std::span(args.begin(), args.size()), {}, std::span(&result, 1))->result());
  }

  Result<Value*> add_variable(Scope& scope, const Value& stands_for) {
    const Type& type = stands_for.type();
    if (!type.is_tensor() && !is_number(type.kind)) {
      return fail(scope,
                  fmt::format("%{}: control flow cannot return a {}", stands_for.name().str(), str(type)));
    }
    ResultSpec result{Name::scoped(scope.prefix + std::string(stands_for.name().str())), type};
    return add(scope, control_symbol(ControlOp::Variable), {}, {}, std::span(&result, 1))->result();
  }

  // --- graphs and nodes

  Result<Arguments> add_graph(const Graph& from, Scope& scope) {
    for (const Node& node : from.nodes()) {
      if (graph().node_count() >= max_flat_nodes) {
        return fail(scope, fmt::format("with its control flow expanded, the method has more than {} nodes",
                                       max_flat_nodes));
      }
      scope.node = &node;
      TRY_STATUS(add_node(node, scope));
    }
    return mapped(from.outputs(), scope);
  }

  Result<Arguments> add_body(const Graph& body, const Arguments& operands, const Scope& outer) {
    if (outer.depth == max_body_depth) {
      return fail(outer, fmt::format("control flow is nested deeper than {}", max_body_depth));
    }
    Scope scope;
    scope.prefix = std::string(body.name().str()) + ".";
    scope.depth = outer.depth + 1;
    scope.node = outer.node;
    for (std::size_t i = 0; i < operands.size(); ++i) scope.values[body.inputs()[i]] = operands[i];
    return add_graph(body, scope);
  }

  Status add_node(const Node& node, Scope& scope) {
    if (is_control_flow(node)) {
      TRY(Arguments results, add_control_flow(scope));
      for (std::size_t i = 0; i < results.size(); ++i) scope.values[node.result(i)] = results[i];
      return {};
    }
    Arguments args = mapped(node.args(), scope);
    std::vector<NamedArgument> kwargs;
    for (const auto& [name, argument] : node.kwargs()) kwargs.push_back({name, mapped(argument, scope)});
    std::vector<ResultSpec> results;
    for (const Value* result : node.results()) {
      Name name = scope.prefix.empty() ? result->name()
                                       : Name::scoped(scope.prefix + std::string(result->name().str()));
      results.push_back({name, result->type()});
    }
    Node* copy = add(scope, node.op(), args, kwargs, results);
    for (std::size_t i = 0; i < results.size(); ++i)
      scope.values[node.result(i)] = Argument::of(copy->result(i));
    return {};
  }

  // Returns the replacements of the results of the current node.
  Result<Arguments> add_control_flow(Scope& scope) {
    auto flow = read_control_flow(*scope.node);
    if (!flow) return fail(scope, fmt::format("{}: {}", scope.node->op().str(), flow.error().message));
    switch (flow->kind) {
      case ControlFlow::Kind::Cond:
        return add_cond(*flow, scope);
      case ControlFlow::Kind::WhileLoop:
        return add_while(*flow, scope);
      case ControlFlow::Kind::Map:
      case ControlFlow::Kind::Scan:
        return add_iterations(*flow, scope);
    }
    return Arguments();
  }

  // --- cond

  // Returns the predicate if it is known: a literal, or an input that must have a fixed value.
  std::optional<bool> known_truth(const Argument& predicate) {
    if (predicate.kind == Argument::Kind::Bool) return predicate.as_bool();
    if (!predicate.is_value()) return std::nullopt;
    const InputSpec* spec = input_spec(*flat_, *predicate.as_value());
    bool is_fixed = spec != nullptr && spec->constant && spec->constant->kind == Argument::Kind::Bool;
    return is_fixed ? std::optional(spec->constant->as_bool()) : std::nullopt;
  }

  Result<Arguments> add_cond(const ControlFlow& flow, Scope& scope) {
    Argument predicate = mapped(flow.predicate, scope);
    Arguments operands = mapped(flow.operands, scope);
    if (auto truth = known_truth(predicate)) return add_body(*flow.bodies[*truth ? 0 : 1], operands, scope);
    TRY(std::vector<Value*> variables, cond_variables(flow, scope));
    bool has_nodes = flow.bodies[0]->node_count() + flow.bodies[1]->node_count() > 0;
    if (has_nodes || std::ranges::any_of(variables, [](Value* variable) { return variable != nullptr; })) {
      mark(scope, ControlOp::If, {predicate});
      TRY_STATUS(add_branch(*flow.bodies[0], operands, variables, scope));
      mark(scope, ControlOp::Else);
      TRY_STATUS(add_branch(*flow.bodies[1], operands, variables, scope));
      mark(scope, ControlOp::EndIf);
    }
    Arguments results;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      auto same = same_operand(flow, i);
      results.push_back(same ? operands[*same] : Argument::of(variables[i]));
    }
    return results;
  }

  // Returns the operand that both branches return for this result, or nullopt.
  static std::optional<std::size_t> same_operand(const ControlFlow& flow, std::size_t result) {
    std::optional<std::size_t> same;
    for (const Graph* body : flow.bodies) {
      const Argument& output = body->outputs()[result];
      if (!output.is_value() || output.as_value()->producer() != nullptr) return std::nullopt;
      if (same && *same != output.as_value()->index()) return std::nullopt;
      same = output.as_value()->index();
    }
    return same;
  }

  // Returns the variable of each result; null where none is needed.
  Result<std::vector<Value*>> cond_variables(const ControlFlow& flow, Scope& scope) {
    std::vector<Value*> variables;
    for (const Value* result : scope.node->results()) {
      variables.push_back(nullptr);
      if (!result->has_uses() || same_operand(flow, result->index())) continue;
      TRY(variables.back(), add_variable(scope, *result));
    }
    return variables;
  }

  Status add_branch(const Graph& body, const Arguments& operands, const std::vector<Value*>& variables,
                    Scope& scope) {
    TRY(Arguments outputs, add_body(body, operands, scope));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (variables[i] != nullptr) mark(scope, ControlOp::Set, {Argument::of(variables[i]), outputs[i]});
    }
    return {};
  }

  // --- loops

  // Returns variables for the carried values, with their initial contents; null for values that the body
  // passes through.
  Result<std::vector<Value*>> carried_variables(const ControlFlow& flow, const Arguments& first,
                                                Scope& scope) {
    std::vector<Value*> variables;
    for (std::size_t i = 0; i < first.size(); ++i) {
      variables.push_back(nullptr);
      const Argument& output = flow.body().outputs()[i];
      if (output.is_value() && output.as_value() == flow.body().inputs()[i]) continue;
      TRY(variables.back(), add_variable(scope, *scope.node->result(i)));
      mark(scope, ControlOp::Set, {Argument::of(variables.back()), first[i]});
    }
    return variables;
  }

  static Arguments carried(const std::vector<Value*>& variables, const Arguments& first) {
    Arguments result = first;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (variables[i] != nullptr) result[i] = Argument::of(variables[i]);
    }
    return result;
  }

  // Updates all variables at once with the outputs of the body.
  void carry_on(const std::vector<Value*>& variables, const Arguments& outputs, Scope& scope) {
    std::vector<VariableUpdate> updates;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (variables[i] != nullptr) updates.push_back({variables[i], outputs[i]});
    }
    for (const ParallelStep& step : parallel_set(updates)) {
      VariableUpdate& update = updates[step.update];
      if (step.kind == ParallelStep::Kind::Set) {
        mark(scope, ControlOp::Set, {Argument::of(update.variable), update.content});
      } else {
        update.content = value(scope, control_symbol(ControlOp::Copy).str(), {update.content}, "old",
                               update.content.as_value()->type());
      }
    }
  }

  Result<Arguments> add_while(const ControlFlow& flow, Scope& scope) {
    Arguments first = mapped(flow.carried, scope);
    Arguments operands = mapped(flow.operands, scope);
    TRY(std::vector<Value*> variables, carried_variables(flow, first, scope));
    Arguments results = carried(variables, first);
    Arguments inputs = results;
    inputs.insert(inputs.end(), operands.begin(), operands.end());
    mark(scope, ControlOp::Loop);
    TRY(Arguments verdict, add_body(*flow.bodies[0], inputs, scope));
    mark(scope, ControlOp::LeaveUnless, {verdict[0]});
    TRY(Arguments outputs, add_body(flow.body(), inputs, scope));
    carry_on(variables, outputs, scope);
    mark(scope, ControlOp::EndLoop, {Argument::of(false)});
    return results;
  }

  // Iterations of map and scan: a loop that counts along the first dimension.
  struct Iterations {
    Argument count;
    bool may_be_none = false;
    Arguments mapped;
    Arguments operands;
    std::vector<Value*> carried;  // null for values that are passed through
    std::vector<Value*> stacked;  // null for results without users
  };

  Result<Arguments> add_iterations(const ControlFlow& flow, Scope& scope) {
    Iterations iterations;
    iterations.mapped = mapped(flow.mapped, scope);
    iterations.operands = mapped(flow.operands, scope);
    Arguments first = mapped(flow.carried, scope);
    count_iterations(flow, iterations, scope);
    TRY(iterations.carried, carried_variables(flow, first, scope));
    Arguments results = carried(iterations.carried, first);
    TRY(iterations.stacked, stacked_variables(flow, iterations, scope));
    if (iterations.may_be_none) {
      mark(scope, ControlOp::If,
           {value(scope, "_operator.gt", {iterations.count, Argument::of(0)}, "any",
                  number_type(Type::Kind::SymBool))});
    }
    TRY_STATUS(add_loop(flow, iterations, results, scope));
    if (iterations.may_be_none) {
      mark(scope, ControlOp::Else);
      TRY_STATUS(set_empty(flow, iterations, scope));
      mark(scope, ControlOp::EndIf);
    }
    for (Value* stacked : iterations.stacked) results.push_back(Argument::of(stacked));
    return results;
  }

  void count_iterations(const ControlFlow& flow, Iterations& iterations, Scope& scope) {
    const SymInt& size = flow.mapped[0].as_value()->tensor().sizes[0];
    if (size.is_constant()) {
      iterations.count = Argument::of(size.value());
    } else {
      iterations.count = value(scope, "aten.sym_size.int", {iterations.mapped[0], Argument::of(0)}, "count",
                               sym_type(Type::Kind::SymInt, size.expr()));
    }
    iterations.may_be_none = bounds(size, program_.ranges).min < 1;
  }

  static bool has_static_items(const TensorType& stacked) {
    return std::all_of(stacked.sizes.begin() + 1, stacked.sizes.end(),
                       [](const SymInt& size) { return size.is_constant(); });
  }

  // Items with static sizes get their count once, before the loop.
  Result<std::vector<Value*>> stacked_variables(const ControlFlow& flow, const Iterations& iterations,
                                                Scope& scope) {
    std::vector<Value*> variables;
    for (const Value* result : scope.node->results().subspan(flow.carried.size())) {
      variables.push_back(nullptr);
      if (!result->has_uses()) continue;
      TRY(variables.back(), add_variable(scope, *result));
      const TensorType& type = result->tensor();
      if (type.is_static() || !has_static_items(type)) continue;
      Arguments sizes = {iterations.count};
      for (std::size_t i = 1; i < type.rank(); ++i) sizes.push_back(Argument::of(type.sizes[i].value()));
      mark(scope, ControlOp::Resize, {Argument::of(variables.back()), graph().list(sizes)});
    }
    return variables;
  }

  Status add_loop(const ControlFlow& flow, const Iterations& iterations, const Arguments& carried,
                  Scope& scope) {
    if (iterations.count.is_int() && iterations.count.as_int() == 0) return {};
    Type integer = number_type(Type::Kind::SymInt);
    Argument iteration = value(scope, control_symbol(ControlOp::Variable).str(), {}, "turn", integer);
    mark(scope, ControlOp::Set, {iteration, Argument::of(0)});
    mark(scope, ControlOp::Loop);
    Arguments inputs = carried;
    for (std::size_t i = 0; i < iterations.mapped.size(); ++i) {
      const Value& input = *flow.body().inputs()[carried.size() + i];
      inputs.push_back(value(scope, "aten.select.int", {iterations.mapped[i], Argument::of(0), iteration},
                             "item", input.type()));
    }
    inputs.insert(inputs.end(), iterations.operands.begin(), iterations.operands.end());
    TRY(Arguments outputs, add_body(flow.body(), inputs, scope));
    for (std::size_t i = 0; i < iterations.stacked.size(); ++i) {
      if (iterations.stacked[i] != nullptr)
        set_item(*iterations.stacked[i], iterations, iteration, outputs[carried.size() + i], scope);
    }
    carry_on(iterations.carried, outputs, scope);
    mark(scope, ControlOp::Set,
         {iteration, value(scope, "_operator.add", {iteration, Argument::of(1)}, "next", integer)});
    mark(scope, ControlOp::EndLoop,
         {value(scope, "_operator.ge", {iteration, iterations.count}, "done",
                number_type(Type::Kind::SymBool))});
    return {};
  }

  // Skips items without elements, which the runtime cannot copy.
  void set_item(Value& stacked, const Iterations& iterations, const Argument& iteration, const Argument& item,
                Scope& scope) {
    const TensorType& type = item.as_value()->tensor();
    if (!has_static_items(stacked.tensor())) {
      Arguments sizes = {iterations.count};
      for (std::size_t dim = 0; dim < type.rank(); ++dim) sizes.push_back(size_of(item, dim, scope));
      mark(scope, ControlOp::Resize, {Argument::of(&stacked), graph().list(sizes)});
    }
    Range elements = bounds(type.numel(), program_.ranges);
    if (elements.max == 0) return;
    bool may_be_empty = elements.min < 1;
    if (may_be_empty) {
      Argument count =
          value(scope, "aten.sym_numel.default", {item}, "numel", number_type(Type::Kind::SymInt));
      mark(scope, ControlOp::If,
           {value(scope, "_operator.gt", {count, Argument::of(0)}, "filled",
                  number_type(Type::Kind::SymBool))});
    }
    mark(scope, ControlOp::SetItem, {Argument::of(&stacked), iteration, item});
    if (may_be_empty) mark(scope, ControlOp::EndIf);
  }

  Argument size_of(const Argument& tensor, std::size_t dim, Scope& scope) {
    const SymInt& size = tensor.as_value()->tensor().sizes[dim];
    if (size.is_constant()) return Argument::of(size.value());
    return value(scope, "aten.sym_size.int", {tensor, Argument::of(static_cast<std::int64_t>(dim))}, "size",
                 sym_type(Type::Kind::SymInt, size.expr()));
  }

  // Sets the sizes for zero iterations, when no item provides them; operands of the loop may.
  Status set_empty(const ControlFlow& flow, const Iterations& iterations, Scope& scope) {
    for (Value* stacked : iterations.stacked) {
      if (stacked == nullptr || has_static_items(stacked->tensor())) continue;
      Arguments sizes = {Argument::of(0)};
      for (std::size_t dim = 1; dim < stacked->tensor().rank(); ++dim) {
        TRY(Argument found, find_size(stacked->tensor().sizes[dim], flow, iterations, scope));
        sizes.push_back(found);
      }
      mark(scope, ControlOp::Resize, {Argument::of(stacked), graph().list(sizes)});
    }
    return {};
  }

  Result<Argument> find_size(const SymInt& size, const ControlFlow& flow, const Iterations& iterations,
                             Scope& scope) {
    if (size.is_constant()) return Argument::of(size.value());
    Arguments given = mapped(flow.carried, scope);
    given.insert(given.end(), iterations.mapped.begin(), iterations.mapped.end());
    given.insert(given.end(), iterations.operands.begin(), iterations.operands.end());
    for (const Argument& argument : given) {
      if (!argument.is_value() || !argument.as_value()->type().is_tensor()) continue;
      const Dims& sizes = argument.as_value()->tensor().sizes;
      auto same = std::ranges::find(sizes, size);
      if (same != sizes.end())
        return size_of(argument, static_cast<std::size_t>(same - sizes.begin()), scope);
    }
    return fail(scope,
                fmt::format("after zero iterations, the size {} of a stacked result is unknown", size.str()),
                "export with a lower bound of 1 for the number of iterations");
  }

  const Program& program_;
  const Method& method_;
  std::unique_ptr<Method> flat_;
  std::vector<const Node*> origins_;
};

}  // namespace

Result<FlatMethod> flatten(const Program& program, const Method& method) {
  if (std::ranges::none_of(method.graph->nodes().begin(), method.graph->nodes().end(), is_control_flow)) {
    return FlatMethod();
  }
  return Flattener(program, method).run();
}

}  // namespace depute
