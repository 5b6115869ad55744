// Replaces symbols in expressions and types.
//
//   f32[u1 + 2, 4] where u1 is u0   ->   f32[u0 + 2, 4]
#pragma once

#include <functional>
#include <string_view>

#include "depute/program/type.h"

namespace depute {

// Returns the expression that replaces a symbol.
using ReplaceSymbol = std::function<const SymExpr*(std::string_view name)>;

const SymExpr* replace_symbols(const SymExpr* expr, const ReplaceSymbol& replacement);
Type replace_symbols(const Type& type, const ReplaceSymbol& replacement);

}  // namespace depute
