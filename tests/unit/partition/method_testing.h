// Random methods with bodies, and what must hold for whatever a partitioner answers about a method.
#pragma once

#include <cstdint>
#include <string>

#include "depute/backend/partitioner.h"
#include "depute/program/program.h"
#include "tests/unit/parse.h"

namespace depute::testing {

// One method, forward, of nodes without effects: %a to %f, %v (a view) and %cond. It has bodies in bodies,
// constants, a mutated buffer, and several results per node here and there.
Program random_program(std::uint32_t seed);

// The first broken rule of a result, or "": every node one verdict, tags and verdicts agree, no partition
// without spec or node, no circle through nodes outside, nodes in order, bodies with their node, and
// constants where they are used.
std::string broken_rule(const Method& method, const PartitionResult& result);

}  // namespace depute::testing
