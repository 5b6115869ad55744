// Structural equality and hashing of programs. Compares ops, literals, kwargs, bodies, outputs, signatures,
// value names, tags, debug handles, and constants by content. Ignores source locations, storage sharing and
// the original subprograms of delegates.
#pragma once

#include <optional>
#include <string>

#include "depute/program/hash.h"
#include "depute/program/program.h"

#pragma GCC visibility push(default)

namespace depute {

// Describes the first difference ("method forward, node %relu: op aten.relu.default / aten.tanh.default").
// Returns nullopt for equal programs.
std::optional<std::string> first_difference(const Program& a, const Program& b);
bool equal(const Program& a, const Program& b);
bool equal(const NamedData& a, const NamedData& b);

// Compares two arguments. Values and graphs are compared by name, which is unique in a graph or method.
bool same_argument(const Argument& a, const Argument& b);

// Equal programs have equal hashes. O(nodes) unless `with_data`, which also hashes the bytes of constants.
Hash128 structural_hash(const Program& program, bool with_data = false);
// Hashes a graph and its bodies. Without `with_tags` the hash ignores delegation tags, which partitioners may
// change.
Hash128 structural_hash(const Graph& graph, bool with_tags = true);

}  // namespace depute

#pragma GCC visibility pop
