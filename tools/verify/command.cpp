// Stands in for `depute verify` in the binary, which cannot run it: the command needs torch and ExecuTorch's
// runtime. The Python package implements it (python/depute/_verify_command.py) and handles the command before
// it gets here.
#include "cli/commands.h"

namespace depute {

Command verify_command() {
  return {
      .name = "verify",
      .help =
          "Compares a .pte in ExecuTorch's runtime with its model in torch. In the Python package only, with "
          "torch and executorch installed",
      .options = [] { return std::vector<Option>(); },
      .run = []() -> Result<int> {
        return failure("usage", "", "verify is a command of the Python package alone",
                       "`pip install .` in Depute's folder, with torch and executorch beside it; then "
                       "`python -m depute verify`");
      },
      .takes_any_words = true,
  };
}

}  // namespace depute
