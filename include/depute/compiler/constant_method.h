// Methods that return constants, beside the model's own methods. Runners call them for metadata before they
// run the model (get_eos_ids, get_max_seq_len, ...).
//
//   method get_eos_ids() {
//     return 2, 3
//   }
//
// They are ordinary methods without inputs and nodes; a list becomes one result per element, as in
// ExecuTorch.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

using ConstantValue = std::variant<bool, std::int64_t, double, std::string, TensorData>;

struct ConstantMethod {
  std::string name;
  std::vector<ConstantValue> values;  // results of the method
};

// Fails if the name is empty or in use, or if there are no values. Call it after partitioning: no backend
// should take these constants.
Status add_constant_method(Program& program, const ConstantMethod& method);

}  // namespace depute

#pragma GCC visibility pop
