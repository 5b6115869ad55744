#include "platform/process_memory.h"

namespace depute::platform {

void set_up_memory() {}  // Windows' malloc has no settings

}  // namespace depute::platform
