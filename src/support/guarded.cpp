#include "support/guarded.h"

#include <new>
#include <stdexcept>

#include "support/thrown_error.h"

namespace depute {

Diagnostic diagnostic_of(const std::exception& exception) {
  if (const auto* thrown = dynamic_cast<const ThrownError*>(&exception)) return thrown->diagnostic();
  bool is_memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
                   dynamic_cast<const std::length_error*>(&exception) != nullptr;
  if (is_memory) return {.code = "memory", .where = {}, .message = "out of memory", .hint = {}, .source = {}};
  return {.code = "internal",
          .where = {},
          .message = exception.what(),
          .hint = "this is a bug of depute: please report it",
          .source = {}};
}

}  // namespace depute
