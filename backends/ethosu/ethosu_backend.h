// Preprocessing for ExecuTorch's EthosUBackend, which runs on Arm's processors for integers, Ethos-U: a partition becomes
// TOSA (backends/tosa), and that a stream of commands and weights.
//
//   translate -> write_graph -> Vela -> write_payload
#pragma once

#include "backends/tosa/tosa_backend.h"
#include "depute/backend/backend.h"

namespace depute::ethosu {

inline constexpr std::string_view backend_id = "EthosUBackend";
// Keys of compile specs, those of ExecuTorch: Vela's options, separated by blanks, and the processor.
inline constexpr std::string_view flags_key = "compile_flags";
inline constexpr std::string_view target_key = "target";
// Key of a compile spec and partitioner option: the path of Vela.
inline constexpr std::string_view vela_key = "vela";

class EthosUBackend : public Backend {
 public:
  std::string_view id() const override { return backend_id; }
  Result<PreprocessResult> preprocess(const Program& edge_program,
                                      std::span<const CompileSpec> compile_specs) const override;
  ScalarType border_type(ScalarType type, std::span<const CompileSpec> compile_specs) const override {
    return tosa::border_type(type, compile_specs);
  }
  Result<std::string> describe(std::span<const std::byte> processed_bytes) const override;
};

}  // namespace depute::ethosu
