// A file that appears whole or not at all: written beside its final place and renamed by commit().
//
//   TRY(auto out, OutputFile::create("model.pte"));
//   TRY_STATUS(out.write(header));
//   TRY_STATUS(out.commit());                 // without it the temporary file is removed
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/mapped_file.h"
#include "support/result.h"

namespace depute {

class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  Status write(std::span<const std::byte> bytes);
  // Copies bytes that lie in `source`'s mapping; many go from file to file, without touching the pages where
  // the system can. `source` must live until commit().
  Status write_from(const MappedFile& source, std::span<const std::byte> bytes);
  Status pad_to(std::uint64_t offset);  // zero bytes up to `offset`, which is not before position()
  // Leaves room up to `offset`, to be filled by write_at.
  Status skip_to(std::uint64_t offset);
  // Writes over bytes before position(), which stays where it is.
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  std::uint64_t position() const { return position_ + pending_bytes_; }
  Status commit();

 private:
  OutputFile(std::string path, std::string temporary, int descriptor)
      : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}
  // Calls `write_some` with what is left of `bytes` until nothing is; it returns what write() does.
  template <typename WriteSome>
  Status write_all(std::span<const std::byte> bytes, WriteSome&& write_some);
  Status make_room(std::size_t size);
  void add_pending(std::span<const std::byte> bytes);
  Status flush();

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  std::uint64_t position_ = 0;
  // To be written next: pieces of buffer_, which therefore never grows, and of mapped files.
  std::vector<std::span<const std::byte>> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::string buffer_;
};

}  // namespace depute
