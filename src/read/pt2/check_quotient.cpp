#include "read/pt2/check_quotient.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

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

}  // namespace

std::optional<std::string> wrong_quotient(const Node& node, const Ranges& ranges) {
  constexpr std::size_t rounds = 39;
  if (node.args().size() != 2 || node.results().size() != 1) return std::nullopt;
  if (node.result(0)->type().kind != Type::Kind::SymInt) return std::nullopt;
  const SymFunction function = sym::function_of_op(node.op().str());
  const bool is_quotient = function == SymFunction::FloorDiv;
  if (!is_quotient && function != SymFunction::Mod) return std::nullopt;
  const SymExpr* dividend = expression_of(node.args()[0]);
  const SymExpr* divisor = expression_of(node.args()[1]);
  const SymExpr* declared = node.result(0)->type().expr;
  if (dividend == nullptr || divisor == nullptr || declared == nullptr) return std::nullopt;
  if (bounds(divisor, ranges).min >= 0) return std::nullopt;
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
    const SymInt expected = is_quotient ? floor_div(*a, *b) : mod(*a, *b);
    if (!expected.is_constant() || expected == *is) continue;
    return fmt::format("torch simplified ({}) {} ({}) to {}, which is {} instead of {} for the divisor {}",
                       str(dividend), is_quotient ? "//" : "%", str(divisor), str(declared), *is,
                       expected.value(), *b);
  }
  return std::nullopt;
}

}  // namespace depute
