// Functional forms of ops that write to their arguments and may have results of their own: what an op of
// someone else's library becomes, of which nothing is known but its schema.
//
//   shop.append.default(Tensor value, Tensor(a!) cache, SymInt at) -> Tensor
//   shop.append.functional(Tensor value, Tensor(a) cache, SymInt at) -> (Tensor, Tensor)
//
// Behind the op's own results come the new contents of the arguments that it writes, in their order. A result
// that is such an argument itself ("-> Tensor(a!)") is none of its own. The kernel is that of the op: it
// finds the old content where the new one will be.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/op.h"

namespace depute {

// The functional form's schema, and its name: "shop.append.functional", "shop.append.rows_functional".
std::string functional_schema(std::string_view schema);
std::string functional_name(std::string_view op);

// Of a result in a schema: its own ("Tensor"), or the argument that is written and given back ("Tensor(a!)").
// Neither: a view of an argument, or something that no argument is.
struct GivenBack {
  bool is_own = true;
  std::optional<std::size_t> written;  // which of the arguments that are written
};
std::vector<GivenBack> results_given_back(std::string_view schema);

// The arguments of a functional form that it gives new contents of; empty for all other ops.
std::vector<std::size_t> renewed_arguments(const OpDef& def);

// A call of the functional form in the place of `node`, which calls the op: its own results are like `own`,
// its contents have the types of the arguments. `args` are all arguments of the schema.
Node& add_functional_call(Graph& graph, Node& node, const OpDef& functional, std::span<const Argument> args,
                          std::span<const Value* const> own);

// The operand that the result is a changed copy of, so that it may lie in the operand's memory; null when
// there is none. Of functional forms, and of ops whose kernel copies its first argument.
const Value* renewed_operand(const Node& node, std::size_t result);

}  // namespace depute
