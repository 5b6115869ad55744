// A file mapped read-only into memory: weights are used where they lie and never copied. What cannot be
// mapped (a pipe) is read into memory.
//
//   TRY(auto file, MappedFile::open("model.pt2"));
//   std::span<const std::byte> bytes = file->bytes();
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "depute/result.h"

namespace depute {

class MappedFile {
 public:
  // Fails with code "open" and the system's reason. An empty file gives an empty span.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  // The same for pipes and other streams as well, which are read into memory until they end.
  static Result<std::shared_ptr<const MappedFile>> open_any(const std::string& path);
  static Result<std::shared_ptr<const MappedFile>> standard_input();
  // Bytes that lie in memory already, as long as `owner` lives; `name` stands for the path.
  static std::shared_ptr<const MappedFile> in_memory(std::span<const std::byte> bytes,
                                                     std::shared_ptr<const void> owner, std::string name);
  // A file or stream that is open already; owns the descriptor, whatever happens.
  static Result<std::shared_ptr<const MappedFile>> take(int descriptor, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }
  int descriptor() const {
    return descriptor_;
  }  // for copy_file_range; -1 for a stream; owned by this object

 private:
  MappedFile(std::string path, int descriptor, std::span<const std::byte> bytes)
      : path_(std::move(path)), descriptor_(descriptor), bytes_(bytes) {}

  std::string path_;
  int descriptor_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;  // of bytes that are not ours to unmap
  bool is_mapped_ = true;
};

}  // namespace depute
