// Makes state consistent between names and between methods.
#pragma once

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Afterwards, if some method stores to a buffer, every method that has the buffer stores to it; a method that
// only reads it stores the old content. So no method treats the buffer as a constant. Fails if a changed
// buffer shares memory with another constant.
Status share_state(Program& program);

}  // namespace depute
