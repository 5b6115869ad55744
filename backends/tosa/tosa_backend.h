// Preprocessing for backends that read TOSA: a partition of normalized ATen ops becomes a flatbuffer of TOSA.
//
//   translate (ops/) -> write_graph
//
// `--backend tosa` has the flatbuffer as payload, as ExecuTorch's TOSABackend; ethosu hands it to Arm's compiler,
// and vgf writes the graph as SPIR-V.
#pragma once

#include "depute/backend/backend.h"
#include "depute/backend/partitioner.h"
#include "depute/backend/registry.h"
#include "graph.h"

namespace depute::tosa {

inline constexpr std::string_view backend_id = "TOSABackend";

// TOSA 1.0 has no i64: places in tensors cross the border as i32.
ScalarType border_type(ScalarType type, std::span<const CompileSpec> compile_specs);

class TosaBackend : public Backend {
 public:
  std::string_view id() const override { return backend_id; }
  Result<PreprocessResult> preprocess(const Program& edge_program,
                                      std::span<const CompileSpec> compile_specs) const override;
  ScalarType border_type(ScalarType type, std::span<const CompileSpec> compile_specs) const override {
    return tosa::border_type(type, compile_specs);
  }
  std::string cache_version() const override { return "4"; }
  Result<std::string> describe(std::span<const std::byte> processed_bytes) const override;
  Result<PayloadLayout> layout(std::span<const std::byte> processed_bytes) const override;
};

// Compile spec that ExecuTorch's TOSABackend reads the version and the profiles from, and option of the partitioner.
inline constexpr std::string_view version_key = "tosa_spec";
inline constexpr std::string_view profile_key = "profile";
// Returns the compile spec of a profile and a version, "TOSA-1.0+INT" for instance.
CompileSpec version_spec(const Device& device);
// Reads profile and version from a compile spec's value; extensions behind them are allowed, but not needed, other than
// int64 with 1.1. Fails for other versions than 1.0 and 1.1.
Status read_version_spec(const CompileSpec& spec, Device& device);

// Returns the graph of a program's only method. Fails if a node cannot be translated.
Result<TosaGraph> translate(const Program& program, const Device& device = {});

// A partitioner for a backend that reads TOSA. `owner` is the backend's name. The compile spec of another profile or version
// than the default is added to the others. Fails for options other than profile.
Result<std::unique_ptr<Partitioner>> make_partitioner(std::string_view owner, const DelegationSpec& spec,
                                                      const BackendOptions& options, Device device = {});
// The device of `--backend tosa`, which stands for all of TOSA.
inline constexpr Device whole_tosa = {.control_flow = true};
std::vector<SupportRow> support_rows(const Device& device = {});
std::vector<std::pair<std::string, std::string>> option_meanings();

}  // namespace depute::tosa
