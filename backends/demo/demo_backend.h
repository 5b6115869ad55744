// The demo backend: small enough to read in one go, complete enough to copy; docs/backends.md explains it.
//
//   conv -> relu -> tan        becomes the text program       conv_relu_op, sin, cos, div
//
// Shows the two difficult parts of a backend, with their entries in the delegate map. Several nodes are fused
// into one instruction (convolution with relu). One node becomes several instructions (tangent as sine,
// cosine, division). The blob begins with that of ExecuTorch's BackendWithDelegateMappingDemo; what it lacks to be executed
// follows: operands, results and, as named data, weights. runtime/demo_runtime.cpp executes it.
#pragma once

#include <memory>

#include "depute/backend/backend.h"
#include "depute/backend/partitioner.h"

namespace depute::demo {

//   3#sin_decomp_from_tan,0,cos_decomp_from_tan,1,div_decomp_from_tan,2,#0,0,1 2,#3,        a tangent
//
// That is: the number of instructions; the instructions, each an op and a delegate debug id; the operands of each, separated by
// blanks; the results. Operands and results are numbers of values: first the inputs of the delegate, then one for each instruction.
// A constant is its key among the named data and its sizes, "demo:7ef6...@8x3x3x3". A convolution has input, weight, bias ("-": none),
// stride, padding, dilation and groups.
class DemoBackend : public Backend {
 public:
  std::string_view id() const override { return "BackendWithDelegateMappingDemo"; }
  Result<PreprocessResult> preprocess(const Program& edge_program,
                                      std::span<const CompileSpec> compile_specs) const override;
  std::string cache_version() const override { return "2"; }
  Result<std::string> describe(std::span<const std::byte> processed_bytes) const override;
};

// Takes every tangent, and each convolution whose only user is a relu, together with that relu.
struct DemoPartitioner : ProposalPartitioner {
  DemoPartitioner();
};

}  // namespace depute::demo
