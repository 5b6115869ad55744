// Plans how the runtime executes a program: values with their memory, and the list of instructions.
//
//   %s = aten.add.Tensor(%x, %y)            aten::add.out(x, y, 1, s, s)
//   %v = aten.view.default(%s, [6])         nothing: v lies in the memory of s
//   %d = delegate.call(@xnnpack0, %v)       DelegateCall xnnpack0(v, d)
//   %t = aten.tan.default(%d)               aten::tan.out(d, t, t), t in the memory of d, its last use
//
// What no kernel of the stock runtime can execute is refused here: all nodes of all methods at once, with the
// user's lines and what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"
#include "depute/write_options.h"
#include "schema/execution_plan.h"

namespace depute {

struct PlanOptions {
  // False: the caller gives the memory of inputs or outputs before each call.
  bool alloc_inputs = true;
  bool alloc_outputs = true;
  // Constants that are not single numbers and whose names match get their data from these files, by name.
  std::vector<DataFile> external = {};
  bool verified = false;  // verify_input() has passed the program
};

// A constant in a file of its own.
struct ExternalConstant {
  PlanTensor tensor;     // its name and layout
  TensorData data;       // dense
  std::size_t file = 0;  // its number in PlanOptions::external
};

struct Plan {
  std::vector<ExecutionPlan> methods;  // in order of name
  // The tensors in the constant segment, dense; an ExecutionPlan counts them from 1.
  std::vector<TensorData> constants;
  // What buffers that are kept between calls start with, dense; a tensor with a place in memory counts them
  // from 1.
  std::vector<TensorData> initial_values;
  std::vector<ExternalConstant> external;
  // Python modules that register kernels which the plan needs and not every runtime has, sorted.
  std::vector<std::string> kernel_modules;
  // Kernels that no runtime has until the application registers them, sorted: "shop::blend.out".
  std::vector<std::string> own_kernels;
};

// The code of a Diagnostic about a node that ExecuTorch's runtime has no kernel for.
inline constexpr std::string_view no_kernel = "plan.no-kernel";

// The code of a Diagnostic about a tensor with a size that nothing bounds; its hint names the symbol.
inline constexpr std::string_view no_bound = "plan.no-bound";

// Why a program cannot be executed.
struct Refusal {
  Symbol method;
  const Node* node = nullptr;  // of the program, perhaps in a body; null: the cause is not one node
  Diagnostic cause;
};

// The program must be normalised: contiguous tensors, no writes but the stores at the end. Plans of the same
// program are equal.
Result<Plan> make_plan(const Program& program, const PlanOptions& options = {});
// The same; a failure also tells each reason for it.
Result<Plan> make_plan(const Program& program, const PlanOptions& options, std::vector<Refusal>& refusals);

}  // namespace depute
