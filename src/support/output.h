// Where a writer puts its bytes, one piece behind the other: a file (output_file.h) or memory. The same calls
// give the same bytes in both.
//
//   std::vector<std::byte> bytes;
//   OutputBytes out(bytes);
//   TRY_STATUS(out.write(header));
//   TRY_STATUS(out.commit());                 // without it `bytes` stay what they were
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "depute/result.h"
#include "support/mapped_file.h"

namespace depute {

class Output {
 public:
  virtual ~Output() = default;

  virtual Status write(std::span<const std::byte> bytes) = 0;
  // Writes bytes that lie in `source`'s mapping, which must live until commit().
  virtual Status write_from(const MappedFile& source, std::span<const std::byte> bytes) = 0;
  Status pad_to(std::uint64_t offset);  // zero bytes up to `offset`, which is not before position()
  // Leaves room up to `offset`, to be filled by write_at.
  virtual Status skip_to(std::uint64_t offset) = 0;
  // Writes over bytes before position(), which stays where it is.
  virtual Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual std::uint64_t position() const = 0;
  // What was written appears in its place; nothing is written afterwards.
  virtual Status commit() = 0;
};

// Opens the output that is to appear under a path.
using OpenOutput = std::function<Result<std::unique_ptr<Output>>(const std::string& path)>;

// Memory. `target` must live until commit(), which replaces what it holds.
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
