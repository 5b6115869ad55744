// The file runtimes.txt of this folder, which the build puts into the program.
#pragma once

#include <string_view>

namespace depute {

std::string_view runtime_text();

}  // namespace depute
