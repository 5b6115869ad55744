// A file that appears whole or not at all: written beside its final place and renamed by commit().
//
//   TRY(auto out, OutputFile::create("model.pte"));
//   TRY_STATUS(out.write(header));
//   TRY_STATUS(out.commit());                 // without it the temporary file is removed
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/output.h"

namespace depute {

class OutputFile : public Output {
 public:
  static Result<OutputFile> create(const std::string& path);
  static Result<std::unique_ptr<Output>> open(const std::string& path);  // create() as an OpenOutput
  ~OutputFile() override;
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  Status write(std::span<const std::byte> bytes) override;
  // Many bytes go from file to file, without touching the pages where the system can.
  Status write_from(const MappedFile& source, std::span<const std::byte> bytes) override;
  Status skip_to(std::uint64_t offset) override;
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;
  std::uint64_t position() const override { return position_ + pending_bytes_; }
  Status commit() override;

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
