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

//   blob     = number of instructions "#" {op "," delegate debug id ","} "#" {operands ","} "#" {value ","}
//   operands = {value | key "@" sizes | sizes}, separated by blanks; a convolution: input weight bias stride padding dilation
//              groups
//   value    = number: first the inputs of the delegate, then a value for each instruction. The last ones are the results
//
// "3#sin_decomp_from_tan,0,cos_decomp_from_tan,1,div_decomp_from_tan,2,#0,0,1 2,#3," is a tangent. A key names a constant among the
// delegate's named data, "-" is no bias, and sizes are "1x2".
class DemoBackend : public Backend {
 public:
  std::string_view id() const override { return "BackendWithDelegateMappingDemo"; }
  Result<PreprocessResult> preprocess(const Program& edge_program,
                                      std::span<const CompileSpec> compile_specs) const override;
  std::string cache_version() const override { return "1"; }
  Result<std::string> describe(std::span<const std::byte> processed_bytes) const override;
};

// Takes every tangent, and each convolution whose only user is a relu, together with that relu.
struct DemoPartitioner : ProposalPartitioner {
  DemoPartitioner();
};

}  // namespace depute::demo
