#include <unistd.h>

#include "platform/posix/system_parts.h"

namespace depute::platform {

void close_other_files(posix_spawn_file_actions_t& actions, short&) {
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
}

}  // namespace depute::platform
