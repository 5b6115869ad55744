// The runtime's OpenvinoBackend: each partition becomes a blob of OpenVINO's CPU plugin, compiled in a
// process of its own.
#pragma once

#include <string_view>
#include <vector>

#include "blob.h"
#include "depute/backend.h"
#include "depute/registry.h"

namespace depute::openvino {

inline constexpr std::string_view backend_id = "OpenvinoBackend";

// What stands in the .pte beside the blob: the device, which the runtime reads, how floats are computed
// (keep_precision.h), and what the blob was made for.
std::vector<CompileSpec> compile_specs(const BlobTarget& target, std::string_view precision);

class OpenvinoBackend : public Backend {
 public:
  std::string_view id() const override { return backend_id; }
  Result<PreprocessResult> preprocess(const Program& edge_program,
                                      std::span<const CompileSpec> compile_specs) const override;
  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int jobs) const override;
  // OpenVINO's version and the kind of CPU: blobs depend on both.
  std::string cache_version() const override;
  // What the blob needs, and whether this machine has it.
  Result<std::string> describe(std::span<const std::byte> processed_bytes) const override;
};

// `openvino` as it is registered: what a program adds to its compiler.
BackendEntry openvino_backend();

}  // namespace depute::openvino
