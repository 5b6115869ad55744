// Registers this backend for the command line.
#include <memory>

#include "backends/tosa/tosa_backend.h"
#include "depute/backend/registry.h"
#include "support/check.h"
#include "vgf_backend.h"

namespace depute::vgf {
namespace {

// The option for the converter becomes a compile spec; the others are the partitioner's.
Result<std::unique_ptr<Partitioner>> make_vgf_partitioner(const BackendOptions& options) {
  BackendOptions others;
  DelegationSpec spec{std::string(backend_id), {}};
  for (const auto& [key, value] : options) {
    if (key != converter_key) {
      others.emplace_back(key, value);
      continue;
    }
    spec.compile_specs.push_back({key, bytes(value)});
  }
  return tosa::make_partitioner("vgf", spec, others);
}

std::vector<std::pair<std::string, std::string>> option_meanings() {
  auto meanings = tosa::option_meanings();
  meanings.emplace_back(converter_key,
                        "let Arm's model-converter write the file: its path, or nothing for that in "
                        "DEPUTE_MODEL_CONVERTER or on PATH");
  return meanings;
}

}  // namespace

void register_backend(Registry& registry) {
  Status added = registry.add(
      {.name = "vgf",
       .description = "ExecuTorch's VgfBackend: f32, f16, integers and bool, on GPUs with Arm's tensors",
       .backend = std::make_unique<VgfBackend>(),
       .make_partitioner = make_vgf_partitioner,
       .support = [] { return tosa::support_rows(); },
       .options = option_meanings(),
       .is_recommended = false});
  CHECK(added.has_value());
}

}  // namespace depute::vgf
