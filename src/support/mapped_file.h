// MappedFile: a file mapped read-only into memory, so that weights are used in place and never copied.
// Streams such as pipes are read into memory.
//
//   TRY(auto file, MappedFile::open("model.pt2"));
//   std::span<const std::byte> bytes = file->bytes();
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "depute/program/result.h"
#include "platform/file.h"

namespace depute {

class MappedFile {
 public:
  // Maps a regular file. Fails with the code "open" and the system's error text. An empty file has an empty
  // span.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  // Like open(), but also accepts pipes and other streams, which are read to their end.
  static Result<std::shared_ptr<const MappedFile>> open_any(const std::string& path);
  static Result<std::shared_ptr<const MappedFile>> standard_input();
  // Wraps bytes in memory, which `owner` keeps alive; `name` replaces the path.
  static std::shared_ptr<const MappedFile> in_memory(std::span<const std::byte> bytes,
                                                     std::shared_ptr<const void> owner, std::string name);
  // Maps an open file or reads an open stream.
  static Result<std::shared_ptr<const MappedFile>> take(platform::File file, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }
  // Returns the path of the mapped file that has this address; empty if none has.
  static std::string path_at(const void* address);
  // True if the file was written or cut since it was mapped: its bytes may mix old and new content.
  bool has_changed() const;
  // The open file; closed for a stream and for bytes in memory.
  const platform::File& file() const { return file_; }

 private:
  MappedFile(std::string path, platform::File file, std::span<const std::byte> bytes)
      : path_(std::move(path)), file_(std::move(file)), bytes_(bytes) {}

  std::string path_;
  platform::FileInfo info_;  // when it was mapped
  platform::File file_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;  // of bytes that are not mapped
  struct Mappings;
  static Mappings& mappings();
};

// The error for an input file that another process writes during the run.
Failure input_changed(const std::string& path);

}  // namespace depute
