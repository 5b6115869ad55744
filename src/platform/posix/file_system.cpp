#include "platform/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "platform/posix/system_parts.h"

namespace depute::platform {
namespace {

std::error_code error_if(bool has_failed) {
  return has_failed ? last_error() : std::error_code();
}

}  // namespace

bool is_open_for_writing(int number) {
  const int flags = fcntl(number, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

std::error_code check_writable(const std::string& path) {
  return error_if(access(path.c_str(), W_OK) != 0);
}

std::error_code check_room_for_files(const std::string& folder) {
  return error_if(access(folder.c_str(), W_OK | X_OK) != 0);
}

std::error_code replace_file(const std::string& from, const std::string& to) {
  return error_if(std::rename(from.c_str(), to.c_str()) != 0);
}

void remove_file(const std::string& path) {
  ::unlink(path.c_str());
}

std::error_code remove_in(const File& folder, const std::string& name) {
  return error_if(unlinkat(static_cast<int>(folder.handle()), name.c_str(), 0) != 0);
}

std::error_code sync_folder(const std::string& path) {
  const auto folder = File::open_folder(path);
  return folder ? folder->sync() : std::error_code();  // without: a folder that may be written but not read
}

void mark_as_used(const std::string& path) {
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

std::error_code create_private_folder(const std::string& path) {
  return error_if(mkdir(path.c_str(), 0700) != 0);
}

std::error_code create_unique_folder(std::string& path) {
  return error_if(mkdtemp(path.data()) == nullptr);
}

std::uint64_t process_number() {
  return static_cast<std::uint64_t>(getpid());
}

}  // namespace depute::platform
