#include "platform/process_memory.h"

namespace depute::platform {

void set_up_memory() {}  // macOS's malloc has no settings

}  // namespace depute::platform
