#include "support/output_file.h"
#include "support/try.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>

namespace depute {
namespace {

constexpr std::size_t buffer_size = 1 << 16;
constexpr std::size_t max_pending = 256;  // writev() accepts 1024 at once
constexpr std::size_t max_pending_bytes = 1 << 20;

// Exchanges the names of two files, if necessary in several steps on file systems without atomic exchange.
bool swap_files(const std::string& a, const std::string& b) {
  if (renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return false;
  const std::string aside = a + ".old";
  if (std::rename(b.c_str(), aside.c_str()) != 0) return false;
  if (std::rename(a.c_str(), b.c_str()) == 0) return std::rename(aside.c_str(), a.c_str()) == 0;
  const int reason = errno;
  std::rename(aside.c_str(), b.c_str());
  errno = reason;
  return false;
}

// False if the disk reports an error. File systems that cannot sync are taken as they are.
bool sync(int descriptor) {
  return fdatasync(descriptor) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
}

}  // namespace

Failure OutputFile::write_error(const void* from) const {
  const std::string source = errno == EFAULT ? MappedFile::path_at(from) : std::string();
  return source.empty() ? system_error() : input_changed(source);
}

Failure OutputFile::system_error() const {
  return failure("write", path_, std::strerror(errno));
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  TRY(OutputFile file, create(path, place_of_path(path)));
  file.is_synced_ = false;
  return file;
}

Result<OutputFile> OutputFile::create(const std::string& path, const FilePlace& place) {
  if (place.exists && !place.is_regular()) return failure("write", path, "exists and is not a regular file");
  auto temporary = TemporaryFile::create(place.path, 0666);
  if (!temporary) return failure("write", path, temporary.error().message);
  if (place.exists) {
    // Only root may give files away; other users keep the group if it is one of theirs.
    if (fchown(temporary->descriptor(), place.owner, place.group) != 0)
      std::ignore = fchown(temporary->descriptor(), static_cast<uid_t>(-1), place.group);
    fchmod(temporary->descriptor(), place.mode & 0777);
  }
  OutputFile file(path, place.path, std::move(*temporary));
  file.is_synced_ = std::getenv("DEPUTE_NO_SYNC") == nullptr;
  return file;
}

Result<std::unique_ptr<Output>> OutputFile::open(const std::string& path) {
  TRY(OutputFile file, create(path, place_of_path(path)));
  return std::make_unique<OutputFile>(std::move(file));
}

template <typename WriteSome>
Status OutputFile::write_all(std::span<const std::byte> bytes, WriteSome&& write_some) {
  while (!bytes.empty()) {
    ssize_t written = write_some(bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return write_error(bytes.data());
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status OutputFile::flush() {
  std::array<iovec, max_pending> parts;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    parts[i] = {const_cast<std::byte*>(pending_[i].data()), pending_[i].size()};
  }
  for (std::size_t first = 0; first < pending_.size();) {
    ssize_t written =
        ::writev(temporary_.descriptor(), &parts[first], static_cast<int>(pending_.size() - first));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return write_error(parts[first].iov_base);
    for (auto left = static_cast<std::size_t>(written); left > 0;) {
      iovec& part = parts[first];
      std::size_t done = std::min(left, part.iov_len);
      part = {static_cast<std::byte*>(part.iov_base) + done, part.iov_len - done};
      left -= done;
      if (part.iov_len == 0) ++first;
    }
  }
  position_ += pending_bytes_;
  pending_.clear();
  pending_bytes_ = 0;
  buffer_.clear();
  return {};
}

// Flushes if `size` more bytes would exceed the limits.
Status OutputFile::make_room(std::size_t size) {
  if (pending_.size() < max_pending && pending_bytes_ + size <= max_pending_bytes) return {};
  return flush();
}

void OutputFile::add_pending(std::span<const std::byte> bytes) {
  pending_bytes_ += bytes.size();
  if (!pending_.empty() && pending_.back().data() + pending_.back().size() == bytes.data()) {
    pending_.back() = {pending_.back().data(), pending_.back().size() + bytes.size()};
  } else {
    pending_.push_back(bytes);
  }
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (bytes.size() > buffer_size) {
    TRY_STATUS(flush());
    position_ += bytes.size();
    return write_all(bytes,
                     [&](auto left) { return ::write(temporary_.descriptor(), left.data(), left.size()); });
  }
  buffer_.reserve(buffer_size);
  TRY_STATUS(make_room(bytes.size()));
  if (buffer_.size() + bytes.size() > buffer_size) TRY_STATUS(flush());
  const std::size_t start = buffer_.size();
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  add_pending(std::as_bytes(std::span(buffer_)).subspan(start));
  return {};
}

Status OutputFile::write_from(const MappedFile& source, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (bytes.size() < buffer_size) {
    TRY_STATUS(make_room(bytes.size()));
    add_pending(bytes);
    return {};
  }
  TRY_STATUS(flush());
  off_t from = bytes.data() - source.bytes().data();
  std::size_t left = bytes.size();
  while (left > 0) {
    ssize_t copied = copy_file_range(source.descriptor(), &from, temporary_.descriptor(), nullptr, left, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) break;  // not supported between these files: write the remaining bytes
    left -= static_cast<std::size_t>(copied);
    position_ += static_cast<std::uint64_t>(copied);
  }
  if (left == 0) return {};
  return write(bytes.subspan(bytes.size() - left));
}

Status OutputFile::skip_to(std::uint64_t offset) {
  TRY_STATUS(flush());
  if (lseek(temporary_.descriptor(), static_cast<off_t>(offset), SEEK_SET) < 0) {
    return system_error();
  }
  position_ = offset;
  return {};
}

Status OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  TRY_STATUS(flush());
  const std::uint64_t end = offset + bytes.size();
  return write_all(bytes, [&](auto left) {
    return pwrite(temporary_.descriptor(), left.data(), left.size(), static_cast<off_t>(end - left.size()));
  });
}

Status OutputFile::commit() {
  TRY_STATUS(finish());
  TRY_STATUS(replace());
  return sync_name();
}

Result<std::shared_ptr<const MappedFile>> OutputFile::written() {
  TRY_STATUS(flush());
  return MappedFile::open(temporary_.path());
}

Status OutputFile::finish() {
  TRY_STATUS(flush());
  if (is_synced_ && !sync(temporary_.descriptor())) return system_error();
  if (Status closed = temporary_.close(); !closed) return failure("write", path_, closed.error().message);
  return {};
}

Status OutputFile::replace() {
  if (std::rename(temporary_.path().c_str(), place_.c_str()) != 0) return system_error();
  temporary_.release();
  return {};
}

Status OutputFile::sync_name() const {
  if (!is_synced_) return {};
  const std::string folder = std::filesystem::path(place_).parent_path().string();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return {};  // a folder that may be written but not read
  const bool is_on_disk = sync(descriptor);
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return is_on_disk ? Status() : system_error();
}

Status OutputFile::swap_in() {
  struct stat info{};
  if (lstat(place_.c_str(), &info) != 0) return replace();
  if (S_ISDIR(info.st_mode)) return failure("write", path_, "is a directory");
  if (!swap_files(temporary_.path(), place_)) return system_error();
  has_swapped_ = true;
  return {};
}

Status OutputFile::undo_swap() {
  if (!has_swapped_) {
    ::unlink(place_.c_str());
    return {};
  }
  has_swapped_ = false;
  if (swap_files(temporary_.path(), place_)) return {};
  std::string kept = temporary_.path();
  temporary_.release();
  return failure("write", path_, fmt::format("cannot be restored; the old content is in {}", kept));
}

}  // namespace depute
