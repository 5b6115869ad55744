#include "platform/sandbox.h"

namespace depute::platform {

void enter_sandbox(const std::string&) {}  // macOS has no rules that a thread can give itself

}  // namespace depute::platform
