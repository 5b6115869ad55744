#include "support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace depute {
namespace {

// Files up to this size are mapped whole at once; of a larger one perhaps little is needed.
constexpr std::size_t max_populated_bytes = std::size_t{32} << 20;

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return error("open", path, std::strerror(errno));
  struct stat info{};
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return error("open", path, "not a regular file");
  }
  std::span<const std::byte> bytes;
  if (info.st_size > 0) {
    auto size = static_cast<std::size_t>(info.st_size);
    int flags = MAP_PRIVATE | (size <= max_populated_bytes ? MAP_POPULATE : 0);
    void* address = mmap(nullptr, size, PROT_READ, flags, descriptor, 0);
    if (address == MAP_FAILED) {
      int reason = errno;
      ::close(descriptor);
      return error("open", path, std::strerror(reason));
    }
    bytes = {static_cast<const std::byte*>(address), size};
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, descriptor, bytes));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  ::close(descriptor_);
}

}  // namespace depute
