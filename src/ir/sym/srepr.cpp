// Prints expressions for torch; src/read/pt2/srepr.cpp parses them.
//
//   (s0//2)   ->   "FloorDiv(Symbol('s0', positive=True, integer=True), Integer(2))"
#include "ir/sym/srepr.h"

namespace depute {

std::string srepr(const SymExpr* expr, const Ranges& ranges) {
  switch (expr->kind) {
    case SymExpr::Kind::Int:
      return "Integer(" + std::to_string(expr->int_value) + ")";
    case SymExpr::Kind::Float:
      return "Float('" + str(expr) + "', precision=53)";
    case SymExpr::Kind::Symbol: {
      const std::string name(expr->name.str());
      const std::int64_t least = bounds(expr, ranges).min;
      const char* sign = least > 0 ? ", positive=True" : least == 0 ? ", nonnegative=True" : "";
      return "Symbol('" + name + "'" + sign + ", integer=True)";
    }
    case SymExpr::Kind::Call:
      break;
  }
  std::string text(expr->name.str());
  if (expr->args.empty()) return text;
  for (std::size_t i = 0; i < expr->args.size(); ++i) {
    text += (i == 0 ? "(" : ", ") + srepr(expr->args[i], ranges);
  }
  return text + ")";
}

}  // namespace depute
