// File: an open file, folder or stream, which is closed with its object. No other program inherits it.
//
//   auto file = platform::File::create("model.pte", 0666);
//   if (!file) return failure("write", "model.pte", file.error().message());
//   if (const auto error = file->write(bytes)) return failure("write", "model.pte", error.message());
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "platform/error.h"

namespace depute::platform {

enum class FileKind : std::uint8_t { None, Regular, Folder, Device, Other };

// Facts about a file. Two files are the same if their `device` and `index` are equal.
struct FileInfo {
  FileKind kind = FileKind::None;  // None: there is no such file
  std::uint64_t device = 0;
  std::uint64_t index = 0;
  std::uint32_t permissions = 0;  // the nine bits of POSIX, 0644 for example
  std::uint32_t owner = 0;
  std::uint32_t group = 0;
  std::uint64_t links = 0;          // names of the file
  std::uint64_t size = 0;           // bytes
  std::uint64_t bytes_on_disk = 0;  // fewer than `size` if the file has gaps
  std::int64_t modified = 0;        // nanoseconds since 1970

  bool exists() const { return kind != FileKind::None; }
  bool is_regular() const { return kind == FileKind::Regular; }
  bool is_folder() const { return kind == FileKind::Folder; }
};

class File {
 public:
  File() = default;
  explicit File(std::intptr_t handle) : handle_(handle) {}  // owns the system's handle
  File(File&& other) noexcept : handle_(std::exchange(other.handle_, closed)) {}
  File& operator=(File&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~File();

  // Opens a file or a stream for reading.
  static Expected<File> open(const std::string& path);
  // Opens an existing file or stream for writing.
  static Expected<File> open_to_write(const std::string& path);
  // Creates a file for writing. Fails with std::errc::file_exists if there is one. The umask is taken from `permissions`.
  static Expected<File> create(const std::string& path, std::uint32_t permissions);
  static Expected<File> open_folder(const std::string& path);
  // Opens a file of an open folder for reading. Fails for a link. Does not wait for the other end of a pipe.
  static Expected<File> open_in(const File& folder, const std::string& name);
  // A copy of the stream with this number: 0 standard input, 1 standard output, 2 standard error.
  static Expected<File> of_stream(int number);

  bool is_open() const { return handle_ != closed; }
  std::intptr_t handle() const { return handle_; }

  Expected<File> duplicate() const;
  Expected<FileInfo> info() const;

  // Returns the number of bytes that were read; 0 at the end.
  Expected<std::size_t> read(std::span<std::byte> into) const;
  // Fails if the file has fewer bytes.
  std::error_code read_at(std::uint64_t offset, std::span<std::byte> into) const;

  std::error_code write(std::span<const std::byte> bytes) const;
  // Writes all parts, and removes from `parts` what is written. After an error, it starts with what could not be.
  std::error_code write(std::span<std::span<const std::byte>>& parts) const;
  std::error_code write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
  // Copies bytes of `source` without reading them. Returns how many: fewer than `size` if the system cannot.
  std::size_t copy_from(const File& source, std::uint64_t offset, std::size_t size) const;

  std::error_code seek(std::uint64_t offset) const;
  // Waits until the content is on the disk. File systems that cannot do this are taken as they are.
  std::error_code sync() const;
  // Gives the file the owner, group and permissions of another, as far as the user may set them.
  void take_access_of(const FileInfo& other) const;
  std::error_code close();

 private:
  static constexpr std::intptr_t closed = -1;
  std::intptr_t handle_ = closed;
};

}  // namespace depute::platform
