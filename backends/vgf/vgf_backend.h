// Preprocessing for ExecuTorch's VgfBackend, which runs on GPUs with Arm's extensions of Vulkan: a partition becomes
// TOSA (backends/tosa), and that a VGF file.
//
//   translate -> write_vgf
#pragma once

#include "backends/tosa/tosa_backend.h"
#include "depute/backend/backend.h"

namespace depute::vgf {

inline constexpr std::string_view backend_id = "VgfBackend";
// Key of a compile spec and partitioner option: the path of Arm's model-converter, which then makes the file. An empty path
// is searched for (find_converter.h).
inline constexpr std::string_view converter_key = "converter";

class VgfBackend : public Backend {
 public:
  std::string_view id() const override { return backend_id; }
  Result<PreprocessResult> preprocess(const Program& edge_program,
                                      std::span<const CompileSpec> compile_specs) const override;
  ScalarType border_type(ScalarType type, std::span<const CompileSpec> compile_specs) const override {
    return tosa::border_type(type, compile_specs);
  }
  Result<std::string> describe(std::span<const std::byte> processed_bytes) const override;
  Result<PayloadLayout> layout(std::span<const std::byte> processed_bytes) const override;
};

}  // namespace depute::vgf
