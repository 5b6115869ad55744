// Whether to_backend checks that partitioners and backends leave what they are given as it was.
//
// On by default. Off, only those two comparisons are skipped: tags, specs, constants, cycles and results are
// checked always. ExecuTorch's disable_validation() and validation_disabled().
#pragma once

#pragma GCC visibility push(default)

namespace depute {

// For the rest of the process.
void disable_validation();

// While it lives, in this thread.
class ValidationDisabled {
 public:
  ValidationDisabled();
  ~ValidationDisabled();
  ValidationDisabled(const ValidationDisabled&) = delete;
  ValidationDisabled& operator=(const ValidationDisabled&) = delete;
};

bool is_validation_enabled();

}  // namespace depute

#pragma GCC visibility pop
