// Nodes that are computed with integers together. A delegate must have the dequantize nodes before a node and the
// quantize nodes behind it, or it would compute the node with floats.
#pragma once

#include <unordered_map>
#include <vector>

#include "depute/backend/proposal.h"
#include "depute/program/program.h"
#include "graph.h"
#include "integer_facts.h"

namespace depute::tosa {

using Answers = std::unordered_map<const Node*, NodeSupport>;

// Returns the sets of nodes that must not be separated. With the profile of integers alone, it refuses nodes in `answers`
// whose neighbors would have to be given floats.
std::vector<std::vector<const Node*>> group_integers(const Program& program, const Method& method,
                                                     const Device& device, const IntegerFacts& facts,
                                                     Answers& answers);

}  // namespace depute::tosa
