// Functional forms of custom ops that write to their arguments; only the schema of such an op is known.
//
//   shop.append.default(Tensor value, Tensor(a!) cache, SymInt at) -> Tensor
//   shop.append.functional(Tensor value, Tensor(a) cache, SymInt at) -> (Tensor, Tensor)
//
// The op's own results are followed by the new contents of the written arguments, in order. A result that is
// a written argument ("-> Tensor(a!)") is not listed as an own result. The kernel is the original op's: it
// writes in place, so the old content must be placed where the result is.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/op.h"

namespace depute {

// Return the functional form's schema and name: "shop.append.functional", "shop.append.rows_functional".
std::string functional_schema(std::string_view schema);
std::string functional_name(std::string_view op);

// Kind of a result in a schema: its own ("Tensor"), or a written argument that is returned ("Tensor(a!)").
// Neither holds for a view of an argument, or for an unknown alias.
struct AliasedResult {
  bool is_own = true;
  std::optional<std::size_t> written;  // index among the written arguments
};
std::vector<AliasedResult> aliased_results(std::string_view schema);

// Returns the arguments whose new contents a functional form returns; empty for all other ops.
std::vector<std::size_t> donated_arguments(const OpDef& def);

// Replaces `node`, a call of the op, by a call of the functional form. Own results are like `own`; contents
// have the types of the arguments. `args` holds all arguments of the schema.
Node& add_functional_call(Graph& graph, Node& node, const OpDef& functional, std::span<const Argument> args,
                          std::span<const Value* const> own);

// Returns the operand whose memory the result may reuse, because the result is a changed copy of it; null if
// there is none. Applies to functional forms, and to ops whose kernel copies its first argument.
const Value* donated_operand(const Node& node, std::size_t result);

}  // namespace depute
