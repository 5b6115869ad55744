// What a code host shows beside the lines of a model: requirements and locks not met, what the runtime would
// refuse, and what was left to ExecuTorch's kernels, by line, op and reason. SARIF and GitHub's annotations
// share it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "depute/report.h"

namespace depute {

struct Finding {
  enum class Level : std::uint8_t { Error, Note };
  Level level = Level::Note;
  std::string rule;  // "require", a diagnostic's code, or "xnnpack/dtype"
  std::string text;
  std::string file;  // of the model's source, else the model
  std::int32_t line = 0;
};

// Errors first.
std::vector<Finding> findings_of(const Report& report);

}  // namespace depute
