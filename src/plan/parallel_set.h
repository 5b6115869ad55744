// The order in which variables take new contents that are read from those same variables: the end of a loop's
// turn.
//
//   %a, %b take %b, %a             %old = copy(%b), set(%b, %a), set(%a, %old)
//   %a, %b take add(%a, 1), %a     set(%b, %a), set(%a, add)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "depute/graph.h"

namespace depute {

struct VariableUpdate {
  Value* variable = nullptr;
  Argument content;
};

struct ParallelStep {
  enum class Kind : std::uint8_t {
    Set,   // the update's variable takes its content
    Copy,  // the update's content moves to memory of its own, to be taken later
  };
  Kind kind = Kind::Set;
  std::size_t update = 0;
};

// One Set for each update, with a Copy for each circle of variables that take each other's content. Linear.
std::vector<ParallelStep> parallel_set(std::span<const VariableUpdate> updates);

}  // namespace depute
