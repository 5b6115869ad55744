// State that several names or several methods see.
#pragma once

#include "depute/program.h"
#include "depute/result.h"

namespace depute {

// Afterwards every method that has a buffer which some method stores to stores to it as well (what it found
// there, if it only reads it), so that nobody takes the buffer for a constant. A buffer that changes and
// shares its memory with another constant is refused.
Status share_state(Program& program);

}  // namespace depute
