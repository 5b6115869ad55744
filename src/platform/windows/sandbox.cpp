#include "platform/sandbox.h"

namespace depute::platform {

// Windows has no rules that a thread can take for the programs that it starts.
void enter_sandbox(const std::string&) {}

}  // namespace depute::platform
