// libc++ gives up a match that takes too long, by an exception.
#include "platform/regex_syntax.h"

namespace depute::platform {

const std::regex::flag_type regex_syntax = std::regex::ECMAScript;

}  // namespace depute::platform
