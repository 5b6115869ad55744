#include "platform/process_memory.h"

namespace depute::platform {

void set_up_memory() {}  // musl's malloc has no settings

}  // namespace depute::platform
