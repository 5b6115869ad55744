// Maps files into memory.
//
//   auto bytes = platform::map_file(file, size, true);
//   ...
//   platform::unmap(*bytes);
//
// Reading a page that another process has cut off the file ends in the handler of on_lost_page() (signals.h).
#pragma once

#include <cstddef>
#include <span>

#include "platform/error.h"
#include "platform/file.h"

namespace depute::platform {

// Maps the first `size` bytes, at least one, for reading. `whole` reads all of them from the disk at once.
Expected<std::span<const std::byte>> map_file(const File& file, std::size_t size, bool whole);
void unmap(std::span<const std::byte> bytes);

}  // namespace depute::platform
