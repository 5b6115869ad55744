// Reads zip archives in place: the container of .pt2 files, and of the torch.save files inside them.
//
//   ArchiveSource source{.bytes = file->bytes(), .file = file};
//   TRY(Archive archive, Archive::open(source, file->path(), limits, budget));
//   const ArchiveEntry* entry = archive.find("mlp/models/model.json");
//   TRY(std::shared_ptr<const Storage> bytes, archive.storage(*entry));
//
// torch writes every entry uncompressed and aligned, so weights can be used in the mapped file: the storage
// of an entry is a slice of the file. Other zip files work too: deflated entries, zip64, sizes in data
// descriptors, comments, any alignment. Every offset is checked before use. Overlapping entries, duplicate
// names, encryption and several disks are rejected.
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

#include "depute/program/data.h"
#include "depute/program/result.h"
#include "read/limits.h"
#include "support/mapped_file.h"

namespace depute {

// The bytes of an archive and their owner.
struct ArchiveSource {
  std::span<const std::byte> bytes;
  std::shared_ptr<const MappedFile> file;  // set if the bytes lie in a mapped file
  std::shared_ptr<const Storage> storage;  // otherwise the owner; null if the caller keeps them alive
};

struct ArchiveEntry {
  std::string_view name;  // name in the directory: "mlp/models/model.json"
  std::uint64_t size = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t header_offset = 0;
  std::uint64_t end_bound = 0;  // header and content lie before this offset
  std::uint32_t crc = 0;        // 0: not recorded
  std::uint16_t method = 0;     // 0 stored, 8 deflated
};

// The bytes of an entry; inflated entries own them.
struct EntryBytes {
  std::span<const std::byte> bytes;
  std::size_t readable_behind = 0;  // readable bytes after the end, for parsers that read ahead
  std::vector<std::byte> inflated;
};

class Archive {
 public:
  // `name` names the archive in errors. `budget` must outlive the archive.
  static Result<Archive> open(ArchiveSource source, std::string name, const ReadLimits& limits,
                              ReadBudget& budget);

  const std::string& name() const { return name_; }
  std::span<const ArchiveEntry> entries() const { return entries_; }  // in directory order
  const ArchiveEntry* find(std::string_view name) const;
  // Finds an entry with the file name `file` and returns its directory: "mlp/" for the marker file
  // "archive_format" of a .pt2. The shortest one if there are several.
  std::optional<std::string_view> prefix_of(std::string_view file) const;

  // Returns the entry's bytes; verifies their checksum if there is one. For descriptions, not for weights.
  Result<EntryBytes> read(const ArchiveEntry& entry) const;
  // Returns the entry as a storage: a slice of the mapped file if the entry is uncompressed. Checksums of
  // slices are not verified, so that weights are not read.
  Result<std::shared_ptr<const Storage>> storage(const ArchiveEntry& entry) const;
  // Opens the entry as an archive.
  Result<Archive> nested(const ArchiveEntry& entry) const;

  ReadBudget& budget() const { return *budget_; }
  // Returns the place for errors: "model.pt2: data/weights/weight_0".
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
  ReadBudget* budget_ = nullptr;
  std::uint64_t directory_offset_ = 0;
  std::vector<ArchiveEntry> entries_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

}  // namespace depute
