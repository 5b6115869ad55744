// An Ethos-U processor and the memories of its system, as options of Vela.
//
//   TRY(const Target target, find_target("ethos-u85-256"));
//   target.flags()   -> --accelerator-config=ethos-u85-256 --config=Arm/vela.ini --output-format=raw ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"

namespace depute::ethosu {

struct Target {
  std::string accelerator = "ethos-u85-256";
  std::string config = "Arm/vela.ini";  // the file with the next two, relative to Vela's own
  std::string system_config;
  std::string memory_mode;
  std::vector<std::string> more;  // options of Vela

  // In the order of ExecuTorch's EthosUCompileSpec.
  std::vector<std::string> flags() const;
};

// Returns a processor with the system and the memories that ExecuTorch chooses for it. Fails for names that do not begin
// with ethos-u55-, ethos-u65- or ethos-u85-; Vela knows the numbers behind.
Result<Target> find_target(std::string_view accelerator);

}  // namespace depute::ethosu
