// Plans how the runtime executes a program: the values with their memory, and the list of instructions.
//
//   %s = aten.add.Tensor(%x, %y)            aten::add.out(x, y, 1, s, s)
//   %v = aten.view.default(%s, [6])         nothing: v lies in the memory of s
//   %d = delegate.call(@xnnpack0, %v)       DelegateCall xnnpack0(v, d)
//   %t = aten.tan.default(%d)               aten::tan.out(d, t, t), t in the memory of d, its last use
//
// Nodes without a kernel in the stock runtime are refused here: all nodes of all methods at once, with the
// user's source lines and hints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "depute/compiler/write_options.h"
#include "depute/program/program.h"
#include "depute/program/result.h"
#include "schema/execution_plan.h"

namespace depute {

// A constant in a file of its own.
struct ExternalConstant {
  PlanTensor tensor;     // its name and layout
  TensorData data;       // contiguous
  std::size_t file = 0;  // index in WriteOptions::ptd
};

struct Plan {
  std::vector<ExecutionPlan> methods;  // in order of name
  // Tensors in the constant segment, contiguous; an ExecutionPlan counts them from 1.
  std::vector<TensorData> constants;
  // Initial values of buffers that are kept between calls, contiguous; a tensor in planned memory counts them
  // from 1.
  std::vector<TensorData> initial_values;
  std::vector<ExternalConstant> external;
  // Python modules that register kernels of this plan that some runtimes lack, sorted.
  std::vector<std::string> kernel_modules;
  // Kernels that the application must register, sorted: "shop::blend.out".
  std::vector<std::string> own_kernels;
};

// Diagnostic code for a node without a kernel in ExecuTorch's runtime.
inline constexpr std::string_view no_kernel = "plan.no-kernel";

// Diagnostic code for a tensor with an unbounded size; the hint names the symbol.
inline constexpr std::string_view no_bound = "plan.no-bound";

// Plans a verified and normalized program: contiguous tensors, and no writes except the stores at the end.
// Adds each reason for a failure to `refusals`. Plans are deterministic.
Result<Plan> make_plan(const Program& program, const WriteOptions& options, std::vector<Refusal>& refusals);
Result<Plan> make_plan(const Program& program, const WriteOptions& options = {});

// Gives an external constant another name. False if there is none of this name.
bool rename_external(Plan& plan, std::string_view name, const std::string& to);

}  // namespace depute
