#include "support/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace depute {
namespace {

constexpr std::size_t buffer_size = 1 << 16;
constexpr std::size_t max_pending = 256;  // the system takes 1024 at once
constexpr std::size_t max_pending_bytes = 1 << 20;

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

Result<std::unique_ptr<Output>> OutputFile::open(const std::string& path) {
  TRY(OutputFile file, create(path));
  return std::make_unique<OutputFile>(std::move(file));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      position_(other.position_),
      pending_(std::move(other.pending_)),
      pending_bytes_(other.pending_bytes_),
      buffer_(std::move(other.buffer_)) {}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

template <typename WriteSome>
Status OutputFile::write_all(std::span<const std::byte> bytes, WriteSome&& write_some) {
  while (!bytes.empty()) {
    ssize_t written = write_some(bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return error("write", path_, std::strerror(errno));
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
    ssize_t written = ::writev(descriptor_, &parts[first], static_cast<int>(pending_.size() - first));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return error("write", path_, std::strerror(errno));
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

// Afterwards `size` more bytes can be added.
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
    return write_all(bytes, [&](auto left) { return ::write(descriptor_, left.data(), left.size()); });
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
    ssize_t copied = copy_file_range(source.descriptor(), &from, descriptor_, nullptr, left, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) break;  // not supported between these files: write the rest
    left -= static_cast<std::size_t>(copied);
    position_ += static_cast<std::uint64_t>(copied);
  }
  if (left == 0) return {};
  return write(bytes.subspan(bytes.size() - left));
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
  const std::uint64_t end = offset + bytes.size();
  return write_all(bytes, [&](auto left) {
    return pwrite(descriptor_, left.data(), left.size(), static_cast<off_t>(end - left.size()));
  });
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
