// Preprocessing for ExecuTorch's XnnpackBackend: a partition of normalized ATen ops becomes a payload.
//
//   translate (ops/) -> simplify -> assign_layouts -> write_payload
#pragma once

#include "depute/backend/backend.h"
#include "graph.h"

namespace depute::xnnpack {

inline constexpr std::string_view backend_id = "XnnpackBackend";
// Key of a compile spec and partitioner option: f16 stores weights as f16 (half_weights.h); default f32.
inline constexpr std::string_view weights_key = "weights";

class XnnpackBackend : public Backend {
 public:
  std::string_view id() const override { return backend_id; }
  Result<PreprocessResult> preprocess(const Program& edge_program,
                                      std::span<const CompileSpec> compile_specs) const override;
  std::string cache_version() const override { return "1"; }
  Result<std::string> describe(std::span<const std::byte> processed_bytes) const override;
  Result<PayloadLayout> layout(std::span<const std::byte> processed_bytes) const override;
};

// Returns the logical graph of a program's only method. Fails if a node cannot be translated.
Result<XnnGraph> translate(const Program& program);
// Returns the graph that preprocess() writes.
Result<XnnGraph> build_graph(const Program& program, std::span<const CompileSpec> compile_specs = {});

}  // namespace depute::xnnpack
