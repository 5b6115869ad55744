// Orders the updates of variables whose new contents are read from those same variables, at the end of a loop
// iteration.
//
//   %a, %b take %b, %a             %old = copy(%b), set(%b, %a), set(%a, %old)
//   %a, %b take add(%a, 1), %a     set(%b, %a), set(%a, add)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "depute/program/graph.h"

namespace depute {

struct VariableUpdate {
  Value* variable = nullptr;
  Argument content;
};

struct ParallelStep {
  enum class Kind : std::uint8_t {
    Set,   // the update's variable takes its content
    Copy,  // the update's content is copied to memory of its own for a later Set
  };
  Kind kind = Kind::Set;
  std::size_t update = 0;
};

// Returns one Set for each update, and one Copy for each cycle of variables that take each other's content.
// Linear time.
std::vector<ParallelStep> parallel_set(std::span<const VariableUpdate> updates);

}  // namespace depute
