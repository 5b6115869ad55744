// Registers this backend for the command line.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "depute/backend/registry.h"
#include "support/check.h"
#include "tosa_backend.h"

namespace depute::tosa {
namespace {

constexpr std::string_view number_key = "version";

// Vendors' compilers read TOSA 1.0, so the version is an option of the plain flatbuffer alone.
Result<std::unique_ptr<Partitioner>> make_plain_partitioner(const BackendOptions& given) {
  BackendOptions others;
  Device device = whole_tosa;
  for (const auto& [key, value] : given) {
    if (key != number_key) {
      others.emplace_back(key, value);
      continue;
    }
    if (value != "1.0" && value != "1.1")
      return failure("usage", "--backend tosa", fmt::format("'version={}' is no version", value),
                     "version=1.0 or version=1.1");
    device.version = value == "1.1" ? Version::V1_1 : Version::V1_0;
  }
  return make_partitioner("tosa", {std::string(backend_id), {}}, others, device);
}

std::vector<std::pair<std::string, std::string>> plain_option_meanings() {
  auto meanings = option_meanings();
  meanings.emplace_back(number_key, "1.0 (default), or 1.1, a draft that has i64");
  return meanings;
}

}  // namespace

void register_backend(Registry& registry) {
  Status added = registry.add({.name = "tosa",
                               .description = "Arm's TOSA 1.0, as a flatbuffer: f32, f16, integers and bool",
                               .backend = std::make_unique<TosaBackend>(),
                               .make_partitioner = make_plain_partitioner,
                               .support = [] { return support_rows(whole_tosa); },
                               .options = plain_option_meanings(),
                               .is_recommended = false});
  CHECK(added.has_value());
}

}  // namespace depute::tosa
