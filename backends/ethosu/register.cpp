// Registers this backend for the command line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <ranges>

#include "backends/tosa/tosa_backend.h"
#include "depute/backend/registry.h"
#include "ethosu_backend.h"
#include "processor_limits.h"
#include "support/check.h"
#include "support/try.h"
#include "target.h"

namespace depute::ethosu {
namespace {

// Options of Vela become compile specs; the others are the partitioner's.
Result<std::unique_ptr<Partitioner>> make_ethosu_partitioner(const BackendOptions& given) {
  const auto value_of = [&](std::string_view key) {
    const auto found = std::ranges::find(given, key, [](const auto& option) { return option.first; });
    return found == given.end() ? std::string() : found->second;
  };
  BackendOptions others = {{std::string(tosa::profile_key), "INT"}};
  for (const auto& option : given) {
    constexpr std::string_view own[] = {target_key, vela_key, "system_config", "memory_mode", "flags"};
    if (std::ranges::find(own, option.first) == std::end(own)) others.push_back(option);
    if (option.first == tosa::profile_key && option.second != "INT")
      return failure("usage", "--backend ethosu", "Ethos-U computes with integers alone: profile=INT");
  }
  const std::string chosen = value_of(target_key);
  TRY(Target target, find_target(chosen.empty() ? Target().accelerator : chosen));
  if (const std::string config = value_of("system_config"); !config.empty()) target.system_config = config;
  if (const std::string mode = value_of("memory_mode"); !mode.empty()) target.memory_mode = mode;
  for (const auto part : std::views::split(value_of("flags"), '+')) {
    if (!std::ranges::empty(part)) target.more.emplace_back(part.begin(), part.end());
  }
  DelegationSpec spec{std::string(backend_id), {}};
  spec.compile_specs.push_back(
      {std::string(flags_key), bytes(fmt::format("{}", fmt::join(target.flags(), " ")))});
  spec.compile_specs.push_back({std::string(target_key), bytes(target.accelerator)});
  if (const std::string path = value_of(vela_key); !path.empty())
    spec.compile_specs.push_back({std::string(vela_key), bytes(path)});
  return tosa::make_partitioner("ethosu", spec, others, device_of(target.accelerator));
}

std::vector<std::pair<std::string, std::string>> option_meanings() {
  auto meanings = tosa::option_meanings();
  std::erase_if(meanings, [](const auto& meaning) { return meaning.first == tosa::profile_key; });
  meanings.emplace_back(target_key,
                        "the processor: ethos-u55-32 to -256, ethos-u65-256 or -512, ethos-u85-128 to -2048 "
                        "(default: ethos-u85-256)");
  meanings.emplace_back(
      "system_config",
      "a system of Vela's configuration (default: the one that ExecuTorch has for the processor)");
  meanings.emplace_back(
      "memory_mode",
      "its memories, such as Shared_Sram (default: those that ExecuTorch has for the processor)");
  meanings.emplace_back("flags", "more options of Vela, joined by '+': --optimise=Size");
  meanings.emplace_back(vela_key, "the path of Arm's Vela (default: DEPUTE_VELA, then PATH)");
  return meanings;
}

std::string missing() {
  const auto vela = find_vela({});
  return vela ? std::string() : vela.error().str();
}

}  // namespace

void register_backend(Registry& registry) {
  Status added =
      registry.add({.name = "ethosu",
                    .description = "ExecuTorch's EthosUBackend: i8, on Arm's Ethos-U55, U65 and U85",
                    .backend = std::make_unique<EthosUBackend>(),
                    .make_partitioner = make_ethosu_partitioner,
                    .support = [] { return tosa::support_rows(); },
                    .options = option_meanings(),
                    .is_recommended = false,
                    .missing = missing});
  CHECK(added.has_value());
}

}  // namespace depute::ethosu
