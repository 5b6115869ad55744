// The demo backend: small enough to read in one go, complete enough to copy; docs/backends.md explains it.
//
//   conv -> relu -> tan        becomes the text program       conv_relu_op, sin, cos, div
//
// Shows the two difficult parts of a backend, with their entries in the delegate map. Several nodes are fused
// into one instruction (convolution with relu). One node becomes several instructions (tangent as sine,
// cosine, division). The blob has the format of ExecuTorch's BackendWithDelegateMappingDemo.
#pragma once

#include <memory>

#include "depute/backend/backend.h"
#include "depute/backend/partitioner.h"

namespace depute::demo {

// blob = "<number of instructions>#" { "<op>,<delegate debug id>," }
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
