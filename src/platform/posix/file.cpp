#include "platform/file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "platform/file_system.h"
#include "platform/posix/system_parts.h"

namespace depute::platform {
namespace {

constexpr std::size_t max_parts = 256;  // writev() accepts 1024 at once

Expected<File> opened(int descriptor) {
  if (descriptor < 0) return Unexpected{last_error()};
  return File(descriptor);
}

int number_of(const File& file) {
  return static_cast<int>(file.handle());
}

// Repeats a call that a signal interrupts.
template <typename Call>
ssize_t uninterrupted(Call&& call) {
  ssize_t count = 0;
  do count = call();
  while (count < 0 && errno == EINTR);
  return count;
}

FileInfo info_of_status(const struct stat& status) {
  FileInfo info;
  info.kind = S_ISREG(status.st_mode)   ? FileKind::Regular
              : S_ISDIR(status.st_mode) ? FileKind::Folder
              : S_ISCHR(status.st_mode) ? FileKind::Device
                                        : FileKind::Other;
  info.device = static_cast<std::uint64_t>(status.st_dev);
  info.index = status.st_ino;
  info.permissions = status.st_mode & 0777;
  info.owner = status.st_uid;
  info.group = status.st_gid;
  info.links = status.st_nlink;
  info.size = static_cast<std::uint64_t>(status.st_size);
  info.bytes_on_disk = static_cast<std::uint64_t>(status.st_blocks) * 512;
  info.modified = modified_time(status);
  return info;
}

template <typename Ask>
Expected<FileInfo> ask_info(Ask&& ask) {
  struct stat status{};
  if (ask(&status) != 0) return Unexpected{last_error()};
  return info_of_status(status);
}

}  // namespace

Expected<FileInfo> info_of(const std::string& path) {
  return ask_info([&](struct stat* status) { return ::stat(path.c_str(), status); });
}

Expected<FileInfo> info_of_name(const std::string& path) {
  return ask_info([&](struct stat* status) { return ::lstat(path.c_str(), status); });
}

Expected<FileInfo> info_of_stream(int number) {
  return ask_info([&](struct stat* status) { return ::fstat(number, status); });
}

File::~File() {
  if (is_open()) ::close(number_of(*this));
}

Expected<File> File::open(const std::string& path) {
  return opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

Expected<File> File::open_to_write(const std::string& path) {
  return opened(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
}

Expected<File> File::create(const std::string& path, std::uint32_t permissions) {
  return opened(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions));
}

Expected<File> File::open_folder(const std::string& path) {
  return opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

Expected<File> File::open_in(const File& folder, const std::string& name) {
  return opened(::openat(number_of(folder), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

Expected<File> File::of_stream(int number) {
  return opened(fcntl(number, F_DUPFD_CLOEXEC, 0));
}

Expected<File> File::duplicate() const {
  return of_stream(number_of(*this));
}

Expected<FileInfo> File::info() const {
  return info_of_stream(number_of(*this));
}

Expected<std::size_t> File::read(std::span<std::byte> into) const {
  const ssize_t count = uninterrupted([&] { return ::read(number_of(*this), into.data(), into.size()); });
  if (count < 0) return Unexpected{last_error()};
  return static_cast<std::size_t>(count);
}

std::error_code File::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t count = uninterrupted(
        [&] { return ::pread(number_of(*this), into.data(), into.size(), static_cast<off_t>(offset)); });
    if (count < 0) return last_error();
    if (count == 0) return std::make_error_code(std::errc::io_error);
    into = into.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

std::error_code File::write(std::span<const std::byte> bytes) const {
  std::span<std::span<const std::byte>> parts(&bytes, 1);
  return write(parts);
}

std::error_code File::write(std::span<std::span<const std::byte>>& parts) const {
  std::array<iovec, max_parts> vectors;
  while (!parts.empty()) {
    const std::size_t used = std::min(parts.size(), max_parts);
    for (std::size_t i = 0; i < used; ++i)
      vectors[i] = {const_cast<std::byte*>(parts[i].data()), parts[i].size()};
    const ssize_t written =
        uninterrupted([&] { return ::writev(number_of(*this), vectors.data(), static_cast<int>(used)); });
    if (written < 0) return last_error();
    auto left = static_cast<std::size_t>(written);
    for (; !parts.empty() && left >= parts[0].size(); parts = parts.subspan(1)) left -= parts[0].size();
    if (left > 0) parts[0] = parts[0].subspan(left);
  }
  return {};
}

std::error_code File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = uninterrupted(
        [&] { return ::pwrite(number_of(*this), bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (count < 0) return last_error();
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

std::error_code File::seek(std::uint64_t offset) const {
  return lseek(number_of(*this), static_cast<off_t>(offset), SEEK_SET) < 0 ? last_error() : std::error_code();
}

void File::take_access_of(const FileInfo& other) const {
  // Only root may give files away; other users keep the group if it is one of theirs.
  if (fchown(number_of(*this), other.owner, other.group) != 0)
    std::ignore = fchown(number_of(*this), static_cast<uid_t>(-1), other.group);
  fchmod(number_of(*this), static_cast<mode_t>(other.permissions));
}

std::error_code File::close() {
  return ::close(static_cast<int>(std::exchange(handle_, closed))) == 0 ? std::error_code() : last_error();
}

}  // namespace depute::platform
