// Writes a bundled program to outputs that the caller opens.
#pragma once

#include <span>
#include <string>

#include "depute/tools/bundle.h"
#include "support/output.h"

namespace depute {

// Like write_pte_to(). Fails like bundle_program() before an output is opened.
Result<WriteSummary> write_bundle_to(const OpenOutput& open, const Executable& executable,
                                     std::span<const TestCase> cases, const std::string& path);

}  // namespace depute
