#include "platform/programs.h"

namespace depute::platform {

std::string own_program() {
  return "/proc/self/exe";
}

}  // namespace depute::platform
