// Results of src/platform: a value or the system's own error. Callers make the messages, since they know the user's file.
//
//   auto file = platform::File::open(path);
//   if (!file) return failure("open", path, file.error().message());   // "No such file or directory"
#pragma once

#include <expected>
#include <system_error>

namespace depute::platform {

template <typename T>
using Expected = std::expected<T, std::error_code>;

}  // namespace depute::platform
