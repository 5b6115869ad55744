// A reason why a program cannot be executed.
#pragma once

#include <memory>

#include "depute/program/name.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

class Node;
class Program;

struct Refusal {
  Name method;
  const Node* node = nullptr;  // node of `program`, perhaps in a body; null: the cause is not one node
  Diagnostic cause;
  std::shared_ptr<const Program> program = {};  // the lowered program, from to_executorch()
};

}  // namespace depute

#pragma GCC visibility pop
