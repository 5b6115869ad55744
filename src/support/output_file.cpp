#include "support/output_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "platform/file_system.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::size_t buffer_size = 1 << 16;
constexpr std::size_t max_pending = 256;
constexpr std::size_t max_pending_bytes = 1 << 20;

// Exchanges the names of two files, if necessary in several steps on file systems without atomic exchange.
std::error_code swap_files(const std::string& a, const std::string& b) {
  std::error_code error = platform::exchange_files(a, b);
  if (error != std::errc::invalid_argument && error != std::errc::function_not_supported &&
      error != std::errc::operation_not_supported && error != std::errc::not_supported)
    return error;
  const std::string aside = a + ".old";
  if (error = platform::replace_file(b, aside); error) return error;
  if (error = platform::replace_file(a, b); !error) return platform::replace_file(aside, a);
  platform::replace_file(aside, b);
  return error;
}

}  // namespace

Failure OutputFile::write_error(std::error_code error, std::span<const std::byte> from) const {
  const std::string source =
      error == std::errc::bad_address ? MappedFile::path_at(from.data()) : std::string();
  return source.empty() ? system_error(error) : input_changed(source);
}

Failure OutputFile::system_error(std::error_code error) const {
  return failure("write", path_, error.message());
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  TRY(OutputFile file, create(path, place_of_path(path)));
  file.is_synced_ = false;
  return file;
}

Result<OutputFile> OutputFile::create(const std::string& path, const FilePlace& place) {
  if (place.exists() && !place.is_regular())
    return failure("write", path, "exists and is not a regular file");
  auto temporary = TemporaryFile::create(place.path, 0666);
  if (!temporary) return failure("write", path, temporary.error().message);
  if (place.exists()) temporary->file().take_access_of(place);
  OutputFile file(path, place.path, std::move(*temporary));
  file.is_synced_ = std::getenv("DEPUTE_NO_SYNC") == nullptr;
  return file;
}

Result<std::unique_ptr<Output>> OutputFile::open(const std::string& path) {
  TRY(OutputFile file, create(path, place_of_path(path)));
  return std::make_unique<OutputFile>(std::move(file));
}

Status OutputFile::flush() {
  std::span<std::span<const std::byte>> left(pending_);
  if (const std::error_code error = temporary_.file().write(left)) return write_error(error, left.front());
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
    if (const std::error_code error = temporary_.file().write(bytes)) return write_error(error, bytes);
    position_ += bytes.size();
    return {};
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
  const auto offset = static_cast<std::uint64_t>(bytes.data() - source.bytes().data());
  const std::size_t copied = temporary_.file().copy_from(source.file(), offset, bytes.size());
  position_ += copied;
  return write(bytes.subspan(copied));
}

Status OutputFile::skip_to(std::uint64_t offset) {
  TRY_STATUS(flush());
  if (const std::error_code error = temporary_.file().seek(offset)) return system_error(error);
  position_ = offset;
  return {};
}

Status OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  TRY_STATUS(flush());
  const std::error_code error = temporary_.file().write_at(offset, bytes);
  return error ? Status(write_error(error, bytes)) : Status();
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
  const std::error_code error = is_synced_ ? temporary_.file().sync() : std::error_code();
  if (error) return system_error(error);
  if (Status closed = temporary_.close(); !closed) return failure("write", path_, closed.error().message);
  return {};
}

Status OutputFile::replace() {
  if (const auto error = platform::replace_file(temporary_.path(), place_)) return system_error(error);
  temporary_.release();
  return {};
}

Status OutputFile::sync_name() const {
  if (!is_synced_) return {};
  const std::error_code error = platform::sync_folder(std::filesystem::path(place_).parent_path().string());
  return error ? Status(system_error(error)) : Status();
}

Status OutputFile::swap_in() {
  const auto info = platform::info_of_name(place_);
  if (!info) return replace();
  if (info->is_folder()) return failure("write", path_, "is a directory");
  if (const std::error_code error = swap_files(temporary_.path(), place_)) return system_error(error);
  has_swapped_ = true;
  return {};
}

Status OutputFile::undo_swap() {
  if (!has_swapped_) {
    platform::remove_file(place_);
    return {};
  }
  has_swapped_ = false;
  if (!swap_files(temporary_.path(), place_)) return {};
  std::string kept = temporary_.path();
  temporary_.release();
  return failure("write", path_, fmt::format("cannot be restored; the old content is in {}", kept));
}

}  // namespace depute
