// Chooses the memory banks of buffers that are kept between calls, for all methods together.
//
// Such a buffer lies at one place of one bank in every method, and no value of any method may lie there. So a
// bank that holds state has less room for values: the choice is made by planning all methods with several
// layouts of the state.
#pragma once

#include "depute/program/program.h"
#include "ir/delegate_index.h"
#include "plan/memory/memory_map.h"
#include "plan/memory/state.h"

namespace depute {

Status choose_state_banks(const Program& program, const DelegateIndex& delegates, const MemoryMap& memory,
                          const WriteOptions& options, State& state);

}  // namespace depute
