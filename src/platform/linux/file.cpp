// Linux copies ranges of files, exchanges names and shows the path of an open folder.
#include "platform/file.h"

#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fcntl.h>

#include <filesystem>

#include "platform/file_system.h"
#include "platform/posix/system_parts.h"

namespace depute::platform {

const int whole_file_flag = MAP_POPULATE;

std::int64_t modified_time(const struct stat& info) {
  return std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

std::size_t File::copy_from(const File& source, std::uint64_t offset, std::size_t size) const {
  auto from = static_cast<off_t>(offset);
  std::size_t left = size;
  while (left > 0) {
    const ssize_t copied = copy_file_range(static_cast<int>(source.handle()), &from,
                                           static_cast<int>(handle_), nullptr, left, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) break;  // not supported between these files
    left -= static_cast<std::size_t>(copied);
  }
  return size - left;
}

std::error_code File::sync() const {
  const bool is_synced =
      fdatasync(static_cast<int>(handle_)) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
  return is_synced ? std::error_code() : last_error();
}

// By its number: musl has no function for it.
std::error_code exchange_files(const std::string& a, const std::string& b) {
  const long failed = syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
  return failed != 0 ? last_error() : std::error_code();
}

std::string path_of(const File& folder) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(folder.handle()), error).string();
}

}  // namespace depute::platform
