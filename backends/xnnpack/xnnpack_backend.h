// Preprocess for ExecuTorch's XnnpackBackend: a partition in normalised ATen ops becomes a payload.
//
//   translate (ops/) -> simplify -> assign_layouts -> write_payload
#pragma once

#include "depute/backend.h"
#include "graph.h"

namespace depute::xnnpack {

inline constexpr std::string_view backend_id = "XnnpackBackend";
// The key of a compile spec and of a partitioner's option: f16 stores weights so (half_weights.h); or f32.
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

// The logical graph of a program's only method. Fails with the node and the reason when one cannot be
// translated.
Result<XnnGraph> translate(const Program& program);
// The graph that preprocess writes.
Result<XnnGraph> build_graph(const Program& program, std::span<const CompileSpec> compile_specs = {});

}  // namespace depute::xnnpack
