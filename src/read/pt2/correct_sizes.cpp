#include "read/pt2/correct_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "depute/program/infer.h"
#include "depute/program/op.h"
#include "ir/sym/sym_functions.h"

namespace depute {
namespace {

using Symbols = std::map<std::string, std::int64_t, std::less<>>;

const SymExpr* expression_of(const Argument& argument) {
  if (argument.is_value()) return argument.as_value()->type().expr;
  return argument.kind == Argument::Kind::Int ? sym_int(argument.as_int()) : nullptr;
}

// Returns numbers within the symbols' ranges, of both signs and different for each `round`.
Symbols sample(const std::vector<Name>& names, const Ranges& ranges, std::size_t round) {
  static constexpr std::array numbers{-1, 2, -5, 3, 7, -2, 4, -6, 5, -3, 11, 6, -4};
  Symbols symbols;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Range range = bounds(sym_symbol(names[i].str()), ranges);
    const std::int64_t number = numbers[(round * (i + 1) + i) % numbers.size()];
    symbols.emplace(names[i].str(), std::clamp(number, range.min, range.max));
  }
  return symbols;
}

// Whether `declared` differs from the operation for numbers within `ranges`. Numbers are tried, nothing is proven.
bool is_wrong(SymFunction function, const SymExpr* dividend, const SymExpr* divisor, const SymExpr* declared,
              const Ranges& ranges) {
  constexpr std::size_t rounds = 39;
  std::vector<Name> names;
  for (const SymExpr* expr : {dividend, divisor, declared}) {
    for (Name name : symbols_of(expr)) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    const Symbols symbols = sample(names, ranges, round);
    const auto a = evaluate(SymInt(dividend), symbols);
    const auto b = evaluate(SymInt(divisor), symbols);
    const auto is = evaluate(SymInt(declared), symbols);
    if (!a || !b || !is || *b == 0) continue;
    const SymInt expected = function == SymFunction::FloorDiv ? floor_div(*a, *b) : mod(*a, *b);
    if (expected.is_constant() && expected != *is) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> SizeCorrector::correct(Node& node) {
  if (node.results().empty()) return std::nullopt;
  bool is_affected = false;
  for (std::size_t i = 0; !corrected_.empty() && i < node.operand_count(); ++i)
    is_affected = is_affected || corrected_.contains(node.operand(i));
  if (!is_affected) {
    correct_quotient(node);
    return std::nullopt;
  }
  if (!node.result(0)->type().is_symbolic()) return correct_tensors(node);
  correct_number(node);
  return std::nullopt;
}

void SizeCorrector::correct_quotient(Node& node) {
  if (node.result(0)->type().kind != Type::Kind::SymInt || node.args().size() != 2) return;
  const SymFunction function = sym::function_of_op(node.op().str());
  if (function != SymFunction::FloorDiv && function != SymFunction::Mod) return;
  const SymExpr* dividend = expression_of(node.args()[0]);
  const SymExpr* divisor = expression_of(node.args()[1]);
  const SymExpr* declared = node.result(0)->type().expr;
  if (dividend == nullptr || divisor == nullptr || declared == nullptr) return;
  if (bounds(divisor, ranges_).min >= 0) return;
  if (is_wrong(function, dividend, divisor, declared, ranges_)) correct_number(node);
}

void SizeCorrector::correct_number(Node& node) {
  const SymFunction function = sym::function_of_op(node.op().str());
  bool is_known = function != SymFunction::Other;
  std::vector<const SymExpr*> operands;
  for (const Argument& argument : node.args()) {
    operands.push_back(expression_of(argument));
    is_known = is_known && operands.back() != nullptr;
  }
  Value& result = *node.result(0);
  set_type(result, sym_type(result.type().kind, is_known ? sym_call(function, operands) : nullptr));
}

std::optional<std::string> SizeCorrector::correct_tensors(Node& node) {
  if (node.def() == nullptr || node.def()->infer == nullptr || !check_call(node))
    return fmt::format("depends on a size that torch simplified as if its divisor were positive");
  auto types = result_types(OpCall(node));
  if (!types) return types.error().message;
  for (std::size_t i = 0; i < types->size(); ++i) {
    if (node.result(i)->type() != (*types)[i]) set_type(*node.result(i), std::move((*types)[i]));
  }
  return std::nullopt;
}

void SizeCorrector::set_type(Value& value, Type type) {
  graph_.set_type(value, std::move(type));
  corrected_.insert(&value);
}

}  // namespace depute
