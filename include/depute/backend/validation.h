// Validation: whether to_backend() checks that partitioners and backends do not modify their inputs.
//
// On by default. Disabling skips only these two checks; tags, specs, constants, cycles and results are always
// checked. Corresponds to ExecuTorch's disable_validation() and validation_disabled().
#pragma once

#pragma GCC visibility push(default)

namespace depute {

// Disables validation until the process ends.
void disable_validation();

// Disables validation in this thread during its lifetime.
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
