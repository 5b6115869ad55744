// Registers this backend for the command line.
#include <memory>

#include "depute/backend/registry.h"
#include "support/check.h"
#include "tosa_backend.h"

namespace depute::tosa {

void register_backend(Registry& registry) {
  Status added =
      registry.add({.name = "tosa",
                    .description = "Arm's TOSA 1.0, as a flatbuffer: f32, f16, integers and bool",
                    .backend = std::make_unique<TosaBackend>(),
                    .make_partitioner =
                        [](const BackendOptions& options) {
                          return make_partitioner("tosa", {std::string(backend_id), {}}, options, whole_tosa);
                        },
                    .support = [] { return support_rows(whole_tosa); },
                    .options = option_meanings(),
                    .is_recommended = false});
  CHECK(added.has_value());
}

}  // namespace depute::tosa
