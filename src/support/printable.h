// Makes text from outside (file names, node names, source lines) safe to print: it stays on one line and
// cannot control the terminal.
#pragma once

#include <string>
#include <string_view>

namespace depute {

// Replaces control characters by "\n" or "\x1b", and bytes that are not valid UTF-8 in the same way.
std::string printable(std::string_view text);

}  // namespace depute
