// Methods that return constants, beside a model's own: what runners ask a program for before they call it
// (get_eos_ids, get_max_seq_len, ...).
//
//   method get_eos_ids() {
//     return 2, 3
//   }
//
// They are ordinary methods without inputs and nodes; a list gives one result per element, as in ExecuTorch.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

using ConstantValue = std::variant<bool, std::int64_t, double, std::string, TensorData>;

struct ConstantMethod {
  std::string name;
  std::vector<ConstantValue> values;  // its results
};

// Fails when the program has a method of the name, when the name is empty, and when there are no values.
// Add them when the program is lowered: what is constant is nobody's to take.
Status add_constant_method(Program& program, const ConstantMethod& method);

}  // namespace depute

#pragma GCC visibility pop
