// A file that appears whole or not at all: written beside its final place and renamed by commit().
//
//   TRY(auto out, OutputFile::create("model.pte"));
//   TRY_STATUS(out.write(header));
//   TRY_STATUS(out.commit());                 // without it the temporary file is removed
//
// A path that is a symbolic link keeps being one: the file that it leads to is replaced. An existing file's
// rights go over to the new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/file_place.h"
#include "support/output.h"
#include "support/temporary_file.h"

namespace depute {

class OutputFile : public Output {
 public:
  static Result<OutputFile> create(const std::string& path);
  static Result<std::unique_ptr<Output>> open(const std::string& path);  // create() as an OpenOutput
  // For a place that was looked up before; `path` is what the user calls it.
  static Result<OutputFile> create(const std::string& path, const FilePlace& place);

  Status write(std::span<const std::byte> bytes) override;
  // Many bytes go from file to file, without touching the pages where the system can.
  Status write_from(const MappedFile& source, std::span<const std::byte> bytes) override;
  Status skip_to(std::uint64_t offset) override;
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;
  std::uint64_t position() const override { return position_ + pending_bytes_; }
  Status commit() override;

  // The bytes so far, while they are still aside.
  Result<std::shared_ptr<const MappedFile>> written();

  // What commit() does, in steps that OutputSet can undo.
  Status finish();   // all bytes are in the temporary file
  Status replace();  // it takes the place of what was there, for good
  // It takes the place of what was there, which is kept until this object goes.
  Status swap_in();
  Status undo_swap();

 private:
  OutputFile(std::string path, std::string place, TemporaryFile temporary)
      : path_(std::move(path)), place_(std::move(place)), temporary_(std::move(temporary)) {}
  Failure system_error() const;
  // Calls `write_some` with what is left of `bytes` until nothing is; it returns what write() does.
  template <typename WriteSome>
  Status write_all(std::span<const std::byte> bytes, WriteSome&& write_some);
  Status make_room(std::size_t size);
  void add_pending(std::span<const std::byte> bytes);
  Status flush();

  std::string path_;
  std::string place_;
  TemporaryFile temporary_;
  bool has_swapped_ = false;  // the temporary file is what was in the place before
  std::uint64_t position_ = 0;
  // To be written next: pieces of buffer_, which therefore never grows, and of mapped files.
  std::vector<std::span<const std::byte>> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::string buffer_;
};

}  // namespace depute
