#include "platform/programs.h"

#include <mach-o/dyld.h>

#include <cstdint>

namespace depute::platform {

std::string own_program() {
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string path(size, '\0');
  _NSGetExecutablePath(path.data(), &size);
  return path.c_str();  // without what is behind its end
}

}  // namespace depute::platform
