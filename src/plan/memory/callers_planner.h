// Calls the functions of WriteOptions::planner, and checks their answers.
//
//   pins of values     before the values are placed: memory banks of any size hold them
//   places of blocks   after Depute has placed all methods: its places are replaced
//
// The places of state follow from the answer too, so the blocks of all methods are given in one call.
#pragma once

#include <span>

#include "depute/compiler/memory_planner.h"
#include "depute/program/program.h"
#include "plan/flat/flatten.h"
#include "plan/memory/memory_map.h"
#include "plan/memory/placement.h"
#include "plan/memory/state.h"

namespace depute {

// A method whose values have places, and whose instructions are not yet made.
struct PlacedMethod {
  const Method* method = nullptr;
  FlatMethod flat;
  Placement placement;

  const Method& straight() const { return flat.method != nullptr ? *flat.method : *method; }
};

// Empty without MemoryPlanner::pin.
Result<ValuePins> ask_for_pins(const Program& program, const MemoryPlanner& planner);

// Replaces all places by those of MemoryPlanner::place. Fails for a wrong answer, with all mistakes.
Status ask_for_places(std::span<PlacedMethod> methods, const MemoryMap& memory, State& state,
                      const WriteOptions& options);

}  // namespace depute
