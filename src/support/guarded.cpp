#include "support/guarded.h"

#include <new>
#include <stdexcept>

namespace depute {
namespace {

constexpr std::string_view out_of_memory = "out of memory";

bool is_of_memory(const std::exception& exception) {
  return dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
         dynamic_cast<const std::length_error*>(&exception) != nullptr;
}

}  // namespace

Diagnostic diagnostic_of(const std::exception& exception) {
  if (const auto* thrown = dynamic_cast<const ThrownError*>(&exception)) return thrown->diagnostic();
  if (is_of_memory(exception))
    return {.code = std::string(memory_code), .message = std::string(out_of_memory)};
  return {
      .code = "internal", .message = exception.what(), .hint = "this is a bug of depute: please report it"};
}

Failure internal::failure_of_foreign(Failure place) {
  try {
    throw;
  } catch (const std::exception& exception) {
    if (is_of_memory(exception)) {
      place.error().code = memory_code;
      place.error().message = out_of_memory;
    } else {
      place.error().message = std::string("it threw: ") + exception.what();
    }
  } catch (...) {
    place.error().message = "it threw a value that is not a std::exception";
  }
  return place;
}

}  // namespace depute
