#include "support/check.h"

#include <memory>

namespace depute::internal {

CheckFailure::CheckFailure(const char* condition, const char* file, int line) {
  text_ << "CHECK(" << condition << ") failed at " << file << ":" << line << " ";
}

CheckFailure& check_failed(const char* condition, const char* file, int line) {
  return *new CheckFailure(condition, file, line);
}

void operator&(ThrowFailure, CheckFailure& failure) {
  std::unique_ptr<CheckFailure> owned(&failure);
  throw InternalError(owned->text());
}

}  // namespace depute::internal
