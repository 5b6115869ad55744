#include "platform/mapping.h"

#include <sys/mman.h>

#include "platform/posix/system_parts.h"

namespace depute::platform {

Expected<std::span<const std::byte>> map_file(const File& file, std::size_t size, bool whole) {
  const int flags = MAP_PRIVATE | (whole ? whole_file_flag : 0);
  void* address = mmap(nullptr, size, PROT_READ, flags, static_cast<int>(file.handle()), 0);
  if (address == MAP_FAILED) return Unexpected{last_error()};
  return std::span(static_cast<const std::byte*>(address), size);
}

void unmap(std::span<const std::byte> bytes) {
  munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace depute::platform
