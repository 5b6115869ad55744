#include "support/check.h"

namespace depute::internal {

CheckFailure::CheckFailure(const char* condition, const char* file, int line) {
  text_ << "CHECK(" << condition << ") failed at " << file << ":" << line << " ";
}

void ThrowFailure::operator&(const CheckFailure& failure) const {
  throw InternalError(failure.text());
}

}  // namespace depute::internal
