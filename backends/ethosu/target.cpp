#include "target.h"

#include <fmt/format.h>

#include <array>

namespace depute::ethosu {
namespace {

struct Family {
  std::string_view prefix, system_config, memory_mode;
};
constexpr std::array families = {
    Family{"ethos-u55-", "Ethos_U55_High_End_Embedded", "Shared_Sram"},
    Family{"ethos-u65-", "Ethos_U65_High_End", "Dedicated_Sram_384KB"},
    Family{"ethos-u85-", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only"},
};

}  // namespace

std::vector<std::string> Target::flags() const {
  std::vector<std::string> all = more;
  all.push_back("--accelerator-config=" + accelerator);
  all.push_back("--config=" + config);
  all.emplace_back("--output-format=raw");
  all.push_back("--system-config=" + system_config);
  all.push_back("--memory-mode=" + memory_mode);
  return all;
}

Result<Target> find_target(std::string_view accelerator) {
  for (const Family& family : families) {
    if (!accelerator.starts_with(family.prefix)) continue;
    Target target;
    target.accelerator = accelerator;
    target.system_config = family.system_config;
    target.memory_mode = family.memory_mode;
    return target;
  }
  return failure("usage", "--backend ethosu", fmt::format("'target={}' is no Ethos-U processor", accelerator),
                 "target=ethos-u55-128, ethos-u65-256 or ethos-u85-256, for instance");
}

}  // namespace depute::ethosu
