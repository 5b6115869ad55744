// Builds values for symbolic sizes: sym_size of a graph input, and arithmetic on such values.

#include <algorithm>

#include "depute/program/builder.h"
#include "ir/sym/size_facts.h"
#include "ir/sym/sym_functions.h"
#include "ops/control/size_values.h"

namespace depute {
namespace {

// True for functions whose values can be sizes; relations and float divisions cannot.
bool makes_sizes(const sym::FunctionRow& row) {
  return row.result == sym::ResultKind::IntegerOfIntegers || row.result == sym::ResultKind::LikeArguments;
}

// Returns the op that computes the function of two sizes; empty if the runtime has no kernel for it.
std::string_view sym_op(SymFunction function) {
  const sym::FunctionRow& row = sym::row_of(function);
  if (row.op.empty() || !row.takes(2) || !makes_sizes(row)) return {};
  const OpDef* def = torch_ops()->find(Name(row.op));
  return def != nullptr && !def->out_name.empty() ? row.op : std::string_view();
}

bool is_size_symbol(const SymExpr* expr) {
  return expr->kind == SymExpr::Kind::Symbol;
}

// Returns the expression as factor * symbol, or nullopt.
std::optional<std::pair<std::int64_t, const SymExpr*>> as_multiple(const SymExpr* expr) {
  if (is_size_symbol(expr)) return std::pair(std::int64_t{1}, expr);
  if (!sym::is_call(expr, SymFunction::Mul) || expr->args.size() != 2) return {};
  const SymExpr* a = expr->args[0];
  const SymExpr* b = expr->args[1];
  if (b->kind == SymExpr::Kind::Int) std::swap(a, b);
  if (a->kind != SymExpr::Kind::Int || a->int_value == 0 || !is_size_symbol(b)) return {};
  return std::pair(a->int_value, b);
}

constexpr std::int64_t max_power = 8;

// A call as a chain of one operation. The runtime has no kernel for powers; s0**2 becomes s0*s0.
struct Chain {
  SymFunction function;
  std::vector<const SymExpr*> parts;
};

Chain chain_of(const SymExpr* expr) {
  const bool is_power = sym::is_call(expr, SymFunction::Pow) && expr->args.size() == 2 &&
                        expr->args[1]->kind == SymExpr::Kind::Int && expr->args[1]->int_value > 1 &&
                        expr->args[1]->int_value <= max_power;
  if (!is_power) return {expr->function, {expr->args.begin(), expr->args.end()}};
  const auto count = static_cast<std::size_t>(expr->args[1]->int_value);
  return {SymFunction::Mul, std::vector<const SymExpr*>(count, expr->args[0])};
}

bool is_input_size(const Node& node) {
  return node.op() == "aten.sym_size.int" && node.operand_count() == 1 &&
         node.operand(0)->producer() == nullptr && node.results().size() == 1;
}

}  // namespace

SizeValues::SizeValues(Graph& graph, const Ranges* ranges)
    : graph_(&graph), facts_(ranges == nullptr ? nullptr : std::make_unique<SizeFacts>(*ranges)) {}
SizeValues::~SizeValues() = default;

void SizeValues::simplify(Type& type) {
  if (facts_ != nullptr) facts_->simplify(type);
}

Range SizeValues::range_of(const SymInt& size) const {
  if (size.is_constant()) return {size.value(), size.value()};
  return facts_ == nullptr ? Range{} : facts_->range_of(size.expr());
}

void SizeValues::scan() {
  scanned_ = true;
  for (Value* input : graph_->inputs()) {
    const Type& type = input->type();
    if (type.kind == Type::Kind::SymInt && type.expr != nullptr) {
      values_.emplace(type.expr, input);
      from_inputs_.emplace(type.expr, true);
    }
    if (!type.is_tensor() || type.tensor.is_static()) continue;
    for (std::size_t dim = 0; dim < type.tensor.rank(); ++dim) {
      const SymInt& size = type.tensor.sizes[dim];
      if (size.is_constant()) continue;
      auto multiple = as_multiple(size.expr());
      if (!multiple) continue;
      InputSize found{input, static_cast<std::int64_t>(dim), multiple->first};
      auto [known, is_new] = input_sizes_.try_emplace(multiple->second, found);
      if (!is_new && found.factor == 1 && known->second.factor != 1) known->second = found;
    }
  }
  // Records the sizes that the graph computes first anyway.
  for (Node* node = graph_->first(); node != nullptr && is_input_size(*node); node = node->next()) {
    const SymExpr* size = node->result()->type().expr;
    if (size == nullptr) break;
    values_.try_emplace(size, node->result());
    from_inputs_[size] = true;
    last_at_top_ = node;
  }
  // Records symbols that nodes define. Nodes with such a size follow the definition.
  for (Node& node : graph_->nodes()) {
    for (Value* result : node.results()) {
      const Type& type = result->type();
      if (type.kind != Type::Kind::SymInt || type.expr == nullptr || !is_size_symbol(type.expr)) continue;
      if (!input_sizes_.contains(type.expr)) values_.try_emplace(type.expr, result);
    }
  }
}

Value* SizeValues::find_or_build(const SymExpr* expr, Node* before, const NodeOrigin& origin) {
  origin_ = origin;
  return find_or_build(expr, before);
}

Value* SizeValues::find_or_build(const SymExpr* expr, Node* before) {
  if (!scanned_) scan();
  if (auto found = values_.find(expr); found != values_.end()) return found->second;
  if (is_size_symbol(expr)) return build_symbol(expr, before);
  return expr->kind == SymExpr::Kind::Call ? build_call(expr, before) : nullptr;
}

Value* SizeValues::add(std::string_view op, std::initializer_list<Argument> args, const SymExpr* expr,
                       Node* before) {
  Node* node = graph_->add(Name(op), args, {}, {{Name("size"), sym_type(Type::Kind::SymInt, expr)}}, before);
  node->debug_handle = origin_.debug_handle;
  node->source = origin_.source;
  values_[expr] = node->result();
  return node->result();
}

Value* SizeValues::add_at_top(std::string_view op, std::initializer_list<Argument> args,
                              const SymExpr* expr) {
  Node* before = last_at_top_ != nullptr ? last_at_top_->next() : graph_->first();
  last_at_top_ = add(op, args, expr, before)->producer();
  from_inputs_[expr] = true;
  return last_at_top_->result();
}

Value* SizeValues::build_symbol(const SymExpr* expr, const Node* before) {
  auto found = input_sizes_.find(expr);
  if (found == input_sizes_.end()) return size_of_result(expr, before);
  InputSize place = found->second;
  const SymExpr* size = place.input->tensor().sizes[static_cast<std::size_t>(place.dim)].expr();
  auto known = values_.find(size);
  Value* value =
      known != values_.end()
          ? known->second
          : add_at_top("aten.sym_size.int", {Argument::of(place.input), Argument::of(place.dim)}, size);
  if (place.factor == 1) return value;
  return add_at_top("_operator.floordiv", {Argument::of(value), Argument::of(place.factor)}, expr);
}

// Reads a data-dependent size after the first node that has it. The search is repeated for each size, since
// nodes are replaced meanwhile; the result is kept.
Value* SizeValues::size_of_result(const SymExpr* expr, const Node* before) {
  for (Node* node = graph_->first(); node != nullptr && node != before; node = node->next()) {
    for (Value* result : node->results()) {
      if (!result->type().is_tensor()) continue;
      const Dims& sizes = result->tensor().sizes;
      const auto dim = std::ranges::find_if(
          sizes, [&](const SymInt& size) { return !size.is_constant() && size.expr() == expr; });
      if (dim == sizes.end()) continue;
      return add("aten.sym_size.int", {Argument::of(result), Argument::of(dim - sizes.begin())}, expr,
                 node->next());
    }
  }
  return nullptr;
}

// Builds a chain of two-argument operations: a + b + c is (a + b) + c.
Value* SizeValues::build_call(const SymExpr* expr, Node* before) {
  const Chain chain = chain_of(expr);
  std::string_view op = sym_op(chain.function);
  if (op.empty() || chain.parts.empty()) return nullptr;
  std::vector<Argument> args;
  bool from_inputs = true;
  for (const SymExpr* arg : chain.parts) {
    if (arg->kind == SymExpr::Kind::Int) {
      args.push_back(Argument::of(arg->int_value));
      continue;
    }
    Value* value = find_or_build(arg, before);
    if (value == nullptr) return nullptr;
    args.push_back(Argument::of(value));
    from_inputs = from_inputs && from_inputs_.contains(arg);
  }
  Argument total = args[0];
  const SymExpr* total_expr = chain.parts[0];
  for (std::size_t i = 1; i < args.size(); ++i) {
    bool is_last = i + 1 == args.size();
    total_expr = is_last ? expr : sym_call(chain.function, {total_expr, chain.parts[i]});
    if (from_inputs) {
      total = Argument::of(add_at_top(op, {total, args[i]}, total_expr));
      continue;
    }
    total = Argument::of(add(op, {total, args[i]}, total_expr, before));
  }
  return total.is_value() ? graph_->own(*total.as_value()) : nullptr;
}

}  // namespace depute
