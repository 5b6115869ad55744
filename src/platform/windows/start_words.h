// The words and variables of a program in the form in which CreateProcessW() takes them.
//
//   command_line({"tool", "a b", "c\"d"})        tool "a b" "c\"d"
#pragma once

#include <string>
#include <vector>

namespace depute::platform {

// Programs split it as the C library does.
std::wstring command_line(const std::vector<std::string>& words);
std::wstring environment_block(std::vector<std::string> lines);

}  // namespace depute::platform
