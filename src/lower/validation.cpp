#include "depute/compiler/to_backend.h"

#include <atomic>

namespace depute {
namespace {

std::atomic<bool> disabled_for_good = false;
thread_local int scopes = 0;

}  // namespace

void disable_validation() {
  disabled_for_good = true;
}

ValidationDisabled::ValidationDisabled() {
  ++scopes;
}

ValidationDisabled::~ValidationDisabled() {
  --scopes;
}

bool is_validation_enabled() {
  return !disabled_for_good && scopes == 0;
}

}  // namespace depute
