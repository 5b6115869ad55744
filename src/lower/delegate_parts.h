// to_backend() for programs that are already verified, as the stages of a compilation are.
#pragma once

#include "depute/compiler/to_backend.h"

namespace depute {

// Nodes in the result's verdicts and partitions belong to `program`.
Result<Lowered> delegate_parts(const Program& program, const MethodPartitioners& partitioners,
                               const Registry& registry, const ToBackendOptions& options);

}  // namespace depute
