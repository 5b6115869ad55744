// Random programs of nested cond, while_loop, map_impl and scan on small tensors of i64, with views,
// delegates and results that are operands.
#pragma once

#include <random>
#include <vector>

#include "control_flow_machine.h"
#include "depute/program/program.h"

namespace depute {

struct RandomControlFlow {
  explicit RandomControlFlow(unsigned seed);

  // Inputs for a call. Their sizes are drawn anew when they are dynamic.
  std::vector<MachineTensor> inputs();

  Program program;

 private:
  std::mt19937 random_;
  Range height_{3, 3};
  Range width_{2, 2};
};

}  // namespace depute
