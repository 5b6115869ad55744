// Reads zip archives where they lie: the container of .pt2 files, and of the torch.save files inside them.
//
//   TRY(Archive archive, Archive::open({.bytes = file->bytes(), .file = file}, file->path(), limits,
//   budget)); const ArchiveEntry* entry = archive.find("mlp/models/model.json"); TRY(std::shared_ptr<const
//   Storage> bytes, archive.storage(*entry));
//
// torch writes every entry uncompressed and aligned, so that weights can be used in the mapped file; a
// storage of such an entry is a slice of it. Any other zip file is read too: deflated entries, zip64, sizes
// in data descriptors, comments, any alignment. Every offset is checked before it is used; entries that
// overlap or share a name, encryption and several disks are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/data.h"
#include "depute/result.h"
#include "read/limits.h"
#include "support/mapped_file.h"

namespace depute {

// Where an archive's bytes lie, and who owns them.
struct ArchiveSource {
  std::span<const std::byte> bytes;
  std::shared_ptr<const MappedFile> file;  // when the bytes lie in a mapped file
  std::shared_ptr<const Storage> storage;  // else their owner; null when the caller keeps them alive
};

// What may still be inflated: one budget for a file and all archives inside it.
struct InflateBudget {
  std::uint64_t bytes_left = 0;
};

struct ArchiveEntry {
  std::string_view name;  // as the directory has it: "mlp/models/model.json"
  std::uint64_t size = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t header_offset = 0;
  std::uint64_t end_bound = 0;  // header and content lie before this offset
  std::uint32_t crc = 0;        // 0: not recorded
  std::uint16_t method = 0;     // 0 stored, 8 deflated
};

// Bytes of an entry that can be read now, and their owner if they had to be inflated.
struct EntryBytes {
  std::span<const std::byte> bytes;
  std::size_t readable_behind = 0;  // readable bytes that follow, for parsers that read ahead
  std::vector<std::byte> inflated;
};

class Archive {
 public:
  // `name` is what errors call the archive. `budget` must outlive it.
  static Result<Archive> open(ArchiveSource source, std::string name, const ReadLimits& limits,
                              InflateBudget& budget);

  const std::string& name() const { return name_; }
  std::span<const ArchiveEntry> entries() const { return entries_; }  // in directory order
  const ArchiveEntry* find(std::string_view name) const;
  // What stands before `file` in the name of an entry of that file name: "mlp/" for the marker file
  // "archive_format" of a .pt2. The shortest one when there are several.
  std::optional<std::string_view> prefix_of(std::string_view file) const;

  // The entry's bytes, with their checksum verified if one is recorded. For descriptions, not for weights.
  Result<EntryBytes> read(const ArchiveEntry& entry) const;
  // The entry as a storage: a slice of the mapped file if it is stored there. Checksums of such slices are
  // not verified, so that no weight is touched.
  Result<std::shared_ptr<const Storage>> storage(const ArchiveEntry& entry) const;
  // The entry as an archive of its own.
  Result<Archive> nested(const ArchiveEntry& entry) const;

  // "model.pt2: data/weights/weight_0"
  std::string place(const ArchiveEntry& entry) const;

 private:
  Archive() = default;
  Status read_directory();
  Status add_entry(std::span<const std::byte> header, std::size_t position);
  Status bound_entries();
  Result<std::span<const std::byte>> stored_bytes(const ArchiveEntry& entry) const;
  Result<std::vector<std::byte>> inflate(const ArchiveEntry& entry, std::size_t padding) const;

  ArchiveSource source_;
  std::string name_;
  ReadLimits limits_;
  InflateBudget* budget_ = nullptr;
  std::uint64_t directory_offset_ = 0;
  std::vector<ArchiveEntry> entries_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

}  // namespace depute
