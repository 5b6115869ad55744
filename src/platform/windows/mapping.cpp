#include "platform/mapping.h"

#include "platform/windows/system_parts.h"

namespace depute::platform {

Expected<std::span<const std::byte>> map_file(const File& file, std::size_t size, bool whole) {
  const HANDLE mapping = CreateFileMappingW(handle_of(file), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) return Unexpected{last_error()};
  void* address = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, size);
  const std::error_code error = address == nullptr ? last_error() : std::error_code();
  CloseHandle(mapping);  // the view keeps what it needs
  if (error) return Unexpected{error};
  WIN32_MEMORY_RANGE_ENTRY range{address, size};
  if (whole) PrefetchVirtualMemory(GetCurrentProcess(), 1, &range, 0);
  return std::span(static_cast<const std::byte*>(address), size);
}

void unmap(std::span<const std::byte> bytes) {
  UnmapViewOfFile(bytes.data());
}

}  // namespace depute::platform
