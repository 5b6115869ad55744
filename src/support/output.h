// Output: sequential destination of a writer, a file (output_file.h) or memory. Both get the same bytes from
// the same calls.
//
//   std::vector<std::byte> bytes;
//   OutputBytes out(bytes);
//   TRY_STATUS(out.write(header));
//   TRY_STATUS(out.commit());                 // without it, `bytes` keeps its old content
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "depute/program/result.h"
#include "support/mapped_file.h"

namespace depute {

class Output {
 public:
  virtual ~Output() = default;

  virtual Status write(std::span<const std::byte> bytes) = 0;
  // Writes bytes of `source`'s mapping, which must live until commit().
  virtual Status write_from(const MappedFile& source, std::span<const std::byte> bytes) = 0;
  Status pad_to(std::uint64_t offset);  // writes zero bytes up to `offset`, which must be >= position()
  // Leaves a gap up to `offset`, to be filled by write_at().
  virtual Status skip_to(std::uint64_t offset) = 0;
  // Overwrites bytes before position(), without changing position().
  virtual Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual std::uint64_t position() const = 0;
  // Makes the written bytes appear at their destination. Nothing may be written afterwards.
  virtual Status commit() = 0;
};

// Opens the output for a path.
using OpenOutput = std::function<Result<std::unique_ptr<Output>>(const std::string& path)>;

// Output to memory. `target` must live until commit(), which replaces its content.
class OutputBytes : public Output {
 public:
  explicit OutputBytes(std::vector<std::byte>& target) : target_(target) {}

  Status write(std::span<const std::byte> bytes) override;
  Status write_from(const MappedFile& source, std::span<const std::byte> bytes) override;
  Status skip_to(std::uint64_t offset) override;
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;
  std::uint64_t position() const override { return bytes_.size(); }
  Status commit() override;

 private:
  std::vector<std::byte>& target_;
  std::vector<std::byte> bytes_;
};

}  // namespace depute
