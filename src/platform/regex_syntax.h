// How std::regex is to match, so that no expression takes exponential time.
#pragma once

#include <regex>

namespace depute::platform {

// For the ECMAScript grammar.
extern const std::regex::flag_type regex_syntax;

}  // namespace depute::platform
