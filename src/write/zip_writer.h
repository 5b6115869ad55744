// Writes a zip archive like torch: uncompressed entries, each starting at a multiple of 64 bytes, so that
// weights can be used in the mapped file. Common zip libraries do not align entries.
//
//   ZipWriter zip(output);
//   TRY_STATUS(zip.add("part/models/model.json", bytes));
//   TRY_STATUS(zip.finish());                 // the directory; the output is the caller's to commit
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "depute/program/result.h"
#include "support/output.h"

namespace depute {

class ZipWriter {
 public:
  explicit ZipWriter(Output& output) : output_(output) {}

  Status add(const std::string& name, std::span<const std::byte> bytes);
  Status add(const std::string& name, std::string_view text);
  Status finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t crc = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;  // of the entry's header
  };

  Output& output_;
  std::vector<Entry> entries_;
};

}  // namespace depute
