// Structural equality and hashing of programs: ops, literals, kwargs, bodies, outputs, signatures, tags,
// handles, constants by content. Value names count; source locations, storage sharing and the originals of
// delegates do not.
#pragma once

#include <optional>
#include <string>

#include "depute/hash.h"
#include "depute/program.h"

#pragma GCC visibility push(default)

namespace depute {

// The first difference in words ("method forward, node %relu: op aten.relu.default / aten.tanh.default"), or
// nothing.
std::optional<std::string> first_difference(const Program& a, const Program& b);
bool equal(const Program& a, const Program& b);
bool equal(const NamedData& a, const NamedData& b);

// Of one node's arguments: values and graphs are compared by name, each has one in its graph or method.
bool same_argument(const Argument& a, const Argument& b);

// Equal programs have equal hashes. O(nodes) without constants' content; `with_data` also hashes the
// constants' bytes.
Hash128 structural_hash(const Program& program, bool with_data = false);
// Of a graph with its bodies. `with_tags` false leaves delegation tags out: what a partitioner may change.
Hash128 structural_hash(const Graph& graph, bool with_tags = true);

}  // namespace depute

#pragma GCC visibility pop
