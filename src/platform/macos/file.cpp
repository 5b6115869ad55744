#include "platform/file.h"

#include <fcntl.h>
#include <sys/param.h>
#include <unistd.h>

#include <cstdio>

#include "platform/file_system.h"
#include "platform/posix/system_parts.h"

namespace depute::platform {

const int whole_file_flag = 0;

std::int64_t modified_time(const struct stat& info) {
  return std::int64_t{info.st_mtimespec.tv_sec} * 1'000'000'000 + info.st_mtimespec.tv_nsec;
}

std::size_t File::copy_from(const File&, std::uint64_t, std::size_t) const {
  return 0;  // macOS clones whole files alone
}

// fsync() leaves the bytes in the disk's own memory.
std::error_code File::sync() const {
  const int descriptor = static_cast<int>(handle_);
  const bool is_synced =
      fcntl(descriptor, F_FULLFSYNC) == 0 || fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
  return is_synced ? std::error_code() : last_error();
}

std::error_code exchange_files(const std::string& a, const std::string& b) {
  return renamex_np(a.c_str(), b.c_str(), RENAME_SWAP) != 0 ? last_error() : std::error_code();
}

std::string path_of(const File& folder) {
  std::array<char, MAXPATHLEN> path{};
  return fcntl(static_cast<int>(folder.handle()), F_GETPATH, path.data()) == 0 ? path.data() : "";
}

}  // namespace depute::platform
