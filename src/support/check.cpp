#include "support/check.h"

#include <cstdio>
#include <cstdlib>

namespace depute::internal {

CheckFailure::CheckFailure(const char* condition, const char* file, int line) {
  text_ << "internal error, please report it: CHECK(" << condition << ") failed at " << file << ":" << line
        << " ";
}

CheckFailure::~CheckFailure() {
  std::fputs((text_.str() + "\n").c_str(), stderr);
  std::abort();
}

}  // namespace depute::internal
