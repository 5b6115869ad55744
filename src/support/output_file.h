// OutputFile: a file that appears atomically: it is written under a temporary name and renamed by commit().
//
//   TRY(auto out, OutputFile::create("model.pte"));
//   TRY_STATUS(out.write(header));
//   TRY_STATUS(out.commit());                 // without it, the temporary file is removed
//
// If the path is a symbolic link, the link's target is replaced. The new file gets the permissions of an
// existing one, and its owner and group as far as the user may set them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "support/file_place.h"
#include "support/output.h"
#include "support/temporary_file.h"

namespace depute {

class OutputFile : public Output {
 public:
  // Creates a file that need not outlive a power failure: one for a worker, or an entry of a cache.
  static Result<OutputFile> create(const std::string& path);
  // Creates an output of the user; commit() returns when its bytes and its name are on the disk, unless the
  // environment has DEPUTE_NO_SYNC. The place was resolved before; `path` is the user's name for it.
  static Result<OutputFile> create(const std::string& path, const FilePlace& place);
  // Creates an output of the user for callers that take an OpenOutput.
  static Result<std::unique_ptr<Output>> open(const std::string& path);

  Status write(std::span<const std::byte> bytes) override;
  // Copies many bytes from file to file without reading the pages, if the system supports it.
  Status write_from(const MappedFile& source, std::span<const std::byte> bytes) override;
  Status skip_to(std::uint64_t offset) override;
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;
  std::uint64_t position() const override { return position_ + pending_bytes_; }
  Status commit() override;

  // Maps the bytes written so far, while the file still has its temporary name.
  Result<std::shared_ptr<const MappedFile>> written();

  // Steps of commit(), which OutputSet can undo.
  Status finish();   // writes all bytes to the temporary file, and waits until they are on the disk
  Status replace();  // renames the temporary file to its place, permanently
  // Exchanges the temporary file with the file in its place; the old file is kept until this object is
  // destroyed.
  Status swap_in();
  Status undo_swap();
  Status sync_name() const;  // waits until the folder with the new name is on the disk

 private:
  OutputFile(std::string path, std::string place, TemporaryFile temporary)
      : path_(std::move(path)), place_(std::move(place)), temporary_(std::move(temporary)) {}
  Failure system_error(std::error_code error) const;
  // `from`: the bytes that could not be written.
  Failure write_error(std::error_code error, std::span<const std::byte> from) const;
  Status make_room(std::size_t size);
  void add_pending(std::span<const std::byte> bytes);
  Status flush();

  std::string path_;
  std::string place_;
  TemporaryFile temporary_;
  bool is_synced_ = false;
  bool has_swapped_ = false;  // the temporary file is now the previous file
  std::uint64_t position_ = 0;
  // Data to be written next: pieces of buffer_, which therefore must not reallocate, and of mapped files.
  std::vector<std::span<const std::byte>> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::string buffer_;
};

}  // namespace depute
