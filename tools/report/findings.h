// Findings that code hosts show beside a model's lines: violated requirements and locks, nodes that the
// runtime rejects, and undelegated nodes by line, op and reason. SARIF and GitHub annotations use them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "depute/tools/report.h"

namespace depute {

struct Finding {
  enum class Level : std::uint8_t { Error, Note };
  Level level = Level::Note;
  std::string rule;  // "require", a diagnostic's code, or "xnnpack/dtype"
  std::string text;
  std::string file;  // source file of the model, else the model
  std::int32_t line = 0;
};

// Returns errors first.
std::vector<Finding> findings_of(const Report& report);

}  // namespace depute
