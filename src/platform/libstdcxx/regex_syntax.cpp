// libstdc++ backtracks, which is exponential for some expressions, unless it is told to match breadth first.
#include "platform/regex_syntax.h"

namespace depute::platform {

const std::regex::flag_type regex_syntax = std::regex::ECMAScript | std::regex_constants::__polynomial;

}  // namespace depute::platform
