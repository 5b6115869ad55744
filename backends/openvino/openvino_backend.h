// The compiler side of the runtime's OpenvinoBackend: each partition becomes a blob of OpenVINO's CPU plugin,
// compiled in a separate process.
#pragma once

#include <string_view>
#include <vector>

#include "blob.h"
#include "depute/backend/backend.h"
#include "depute/backend/registry.h"

namespace depute::openvino {

inline constexpr std::string_view backend_id = "OpenvinoBackend";

// Compile specs in the .pte: the device (which the runtime reads), the precision of floats
// (keep_precision.h), and the target of the blob.
std::vector<CompileSpec> compile_specs(const BlobTarget& target, std::string_view precision);

class OpenvinoBackend : public Backend {
 public:
  std::string_view id() const override { return backend_id; }
  Result<PreprocessResult> preprocess(const Program& edge_program,
                                      std::span<const CompileSpec> compile_specs) const override;
  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int jobs) const override;
  // OpenVINO's version and the kind of CPU, since blobs depend on both.
  std::string cache_version() const override;
  // Prints the requirements of the blob, and whether this machine meets them.
  Result<std::string> describe(std::span<const std::byte> processed_bytes) const override;
};

// The registry entry of `openvino`, which a program adds to its compiler.
BackendEntry openvino_backend();

}  // namespace depute::openvino
