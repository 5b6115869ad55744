#include "support/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace depute {
namespace {

constexpr std::size_t buffer_size = 1 << 16;

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return error("write", path, "exists and is not a regular file");
  }
  std::string temporary = fmt::format("{}.tmp{}", path, getpid());
  int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return error("write", path, std::strerror(errno));
  return OutputFile(path, temporary, descriptor);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      position_(other.position_),
      buffer_(std::move(other.buffer_)) {}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

Status OutputFile::flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    ssize_t written = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return error("write", path_, std::strerror(errno));
    done += static_cast<std::size_t>(written);
  }
  position_ += buffer_.size();
  buffer_.clear();
  return {};
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  const char* data = reinterpret_cast<const char*>(bytes.data());
  if (buffer_.size() + bytes.size() <= buffer_size) {
    buffer_.append(data, bytes.size());
    return {};
  }
  TRY_STATUS(flush());
  std::size_t done = 0;
  while (done < bytes.size()) {
    ssize_t written = ::write(descriptor_, data + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return error("write", path_, std::strerror(errno));
    done += static_cast<std::size_t>(written);
  }
  position_ += bytes.size();
  return {};
}

Status OutputFile::write_from(const MappedFile& source, std::span<const std::byte> bytes) {
  if (bytes.size() < buffer_size) return write(bytes);
  TRY_STATUS(flush());
  off_t from = bytes.data() - source.bytes().data();
  std::size_t left = bytes.size();
  while (left > 0) {
    ssize_t copied = copy_file_range(source.descriptor(), &from, descriptor_, nullptr, left, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) break;  // not supported between these files: write the rest
    left -= static_cast<std::size_t>(copied);
    position_ += static_cast<std::uint64_t>(copied);
  }
  if (left == 0) return {};
  return write(bytes.subspan(bytes.size() - left));
}

Status OutputFile::pad_to(std::uint64_t offset) {
  static constexpr std::byte zeros[4096] = {};
  while (position() < offset) {
    auto count = std::min<std::uint64_t>(offset - position(), sizeof zeros);
    TRY_STATUS(write(std::span(zeros, count)));
  }
  return {};
}

Status OutputFile::skip_to(std::uint64_t offset) {
  TRY_STATUS(flush());
  if (lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0) {
    return error("write", path_, std::strerror(errno));
  }
  position_ = offset;
  return {};
}

Status OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  TRY_STATUS(flush());
  std::size_t done = 0;
  while (done < bytes.size()) {
    ssize_t written = pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                             static_cast<off_t>(offset + done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return error("write", path_, std::strerror(errno));
    done += static_cast<std::size_t>(written);
  }
  return {};
}

Status OutputFile::commit() {
  TRY_STATUS(flush());
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    int reason = errno;
    ::unlink(temporary_.c_str());
    return error("write", path_, std::strerror(reason));
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    int reason = errno;
    ::unlink(temporary_.c_str());
    return error("write", path_, std::strerror(reason));
  }
  return {};
}

}  // namespace depute
