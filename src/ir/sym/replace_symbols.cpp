#include "ir/sym/replace_symbols.h"

#include <unordered_map>
#include <vector>

namespace depute {
namespace {

void replace_in(Dims& sizes, const ReplaceSymbol& replacement) {
  for (SymInt& size : sizes)
    if (!size.is_constant()) size = SymInt(replace_symbols(size.expr(), replacement));
}

}  // namespace

const SymExpr* replace_symbols(const SymExpr* expr, const ReplaceSymbol& replacement) {
  std::unordered_map<const SymExpr*, const SymExpr*> done;
  auto replace = [&](auto&& self, const SymExpr* e) -> const SymExpr* {
    if (e->kind == SymExpr::Kind::Symbol) return replacement(e->name.str());
    if (e->kind != SymExpr::Kind::Call) return e;
    if (auto found = done.find(e); found != done.end()) return found->second;
    std::vector<const SymExpr*> args;
    args.reserve(e->args.size());
    for (const SymExpr* arg : e->args) args.push_back(self(self, arg));
    return done[e] = sym_call_like(e, std::move(args));
  };
  return replace(replace, expr);
}

Type replace_symbols(const Type& type, const ReplaceSymbol& replacement) {
  Type result = type;
  if (result.expr != nullptr) result.expr = replace_symbols(result.expr, replacement);
  replace_in(result.tensor.sizes, replacement);
  replace_in(result.tensor.strides, replacement);
  return result;
}

}  // namespace depute
