#include "read/pt2/archive.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>

#include "read/quote.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t central_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t end64_signature = 0x06064b50;
constexpr std::uint32_t locator_signature = 0x07064b50;

constexpr std::size_t local_bytes = 30;
constexpr std::size_t central_bytes = 46;
constexpr std::size_t end_bytes = 22;
constexpr std::size_t end64_bytes = 56;
constexpr std::size_t locator_bytes = 20;
constexpr std::size_t max_comment_bytes = 0xffff;
constexpr std::uint64_t small_entry = std::uint64_t{1}
                                      << 14;  // inflates at any ratio: its headers are large enough
constexpr std::size_t inflate_padding = 64;   // readable bytes after an inflated entry

constexpr std::uint16_t zip64_extra = 1;
constexpr std::uint16_t stored_method = 0;
constexpr std::uint16_t deflated_method = 8;
constexpr std::uint16_t encrypted_flags = 0x2041;  // encryption, strong encryption, masked headers

using Bytes = std::span<const std::byte>;

// Reads a little-endian number; the caller has checked the bounds.
template <typename T>
T load(Bytes bytes, std::size_t offset) {
  T value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

bool has(Bytes bytes, std::uint64_t offset, std::uint64_t count) {
  return offset <= bytes.size() && count <= bytes.size() - offset;
}

Failure archive_error(const std::string& archive, std::uint64_t offset, std::string_view message) {
  return failure(
      "read_archive", fmt::format("{} (byte {})", archive, offset), message,
      "the file is not a complete zip archive as torch.export.save writes it; save or copy it again");
}

// Position of the directory, from the records at the file's end.
struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t entries = 0;
};

std::optional<std::size_t> find_end_record(Bytes bytes) {
  if (bytes.size() < end_bytes) return std::nullopt;
  std::size_t last = bytes.size() - end_bytes;
  std::size_t first = last > max_comment_bytes ? last - max_comment_bytes : 0;
  for (std::size_t at = last + 1; at-- > first;) {
    if (load<std::uint32_t>(bytes, at) != end_signature) continue;
    if (at + end_bytes + load<std::uint16_t>(bytes, at + 20) == bytes.size()) return at;
  }
  return std::nullopt;
}

Result<Directory> read_end64(Bytes bytes, std::size_t locator, const std::string& name) {
  auto at = load<std::uint64_t>(bytes, locator + 8);
  if (load<std::uint32_t>(bytes, locator + 4) != 0 || load<std::uint32_t>(bytes, locator + 16) > 1) {
    return archive_error(name, locator, "the archive is split over several disks");
  }
  if (!has(bytes, at, end64_bytes) || at + end64_bytes > locator ||
      load<std::uint32_t>(bytes, at) != end64_signature) {
    return archive_error(name, locator, "the zip64 locator does not point to an end record");
  }
  if (load<std::uint32_t>(bytes, at + 16) != 0 || load<std::uint32_t>(bytes, at + 20) != 0 ||
      load<std::uint64_t>(bytes, at + 24) != load<std::uint64_t>(bytes, at + 32)) {
    return archive_error(name, at, "the archive is split over several disks");
  }
  return Directory{.offset = load<std::uint64_t>(bytes, at + 48),
                   .size = load<std::uint64_t>(bytes, at + 40),
                   .entries = load<std::uint64_t>(bytes, at + 32)};
}

Result<Directory> find_directory(Bytes bytes, const std::string& name) {
  auto end = find_end_record(bytes);
  if (!end) return archive_error(name, bytes.size(), "no zip directory at the end of the file");
  Directory directory{.offset = load<std::uint32_t>(bytes, *end + 16),
                      .size = load<std::uint32_t>(bytes, *end + 12),
                      .entries = load<std::uint16_t>(bytes, *end + 10)};
  bool is_zip64 =
      *end >= locator_bytes && load<std::uint32_t>(bytes, *end - locator_bytes) == locator_signature;
  if (is_zip64) {
    TRY(directory, read_end64(bytes, *end - locator_bytes, name));
  } else if (load<std::uint16_t>(bytes, *end + 4) != 0 || load<std::uint16_t>(bytes, *end + 6) != 0 ||
             load<std::uint16_t>(bytes, *end + 8) != directory.entries) {
    return archive_error(name, *end, "the archive is split over several disks");
  }
  if (!has(bytes, directory.offset, directory.size) || directory.offset + directory.size > *end) {
    return archive_error(name, *end, "the directory is outside of the file");
  }
  return directory;
}

// Replaces fields that did not fit into the 32-bit header with those of the zip64 extra field.
bool apply_zip64(Bytes extra, ArchiveEntry& entry) {
  constexpr std::uint32_t full = 0xffffffff;
  bool is_complete = entry.size != full && entry.stored_size != full && entry.header_offset != full;
  while (extra.size() >= 4) {
    auto id = load<std::uint16_t>(extra, 0);
    auto size = load<std::uint16_t>(extra, 2);
    if (!has(extra, 4, size)) return is_complete;
    Bytes field = extra.subspan(4, size);
    extra = extra.subspan(4 + std::size_t{size});
    if (id != zip64_extra) continue;
    for (std::uint64_t* value : {&entry.size, &entry.stored_size, &entry.header_offset}) {
      if (*value != full) continue;
      if (field.size() < 8) return false;
      *value = load<std::uint64_t>(field, 0);
      field = field.subspan(8);
    }
    return true;
  }
  return is_complete;
}

std::uint32_t checksum(Bytes bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

// Inflates raw deflate data into exactly `out`.
bool inflate_raw(Bytes in, std::span<std::byte> out) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> inflater(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (inflater == nullptr) throw std::bad_alloc();
  return libdeflate_deflate_decompress(inflater.get(), in.data(), in.size(), out.data(), out.size(),
                                       nullptr) == LIBDEFLATE_SUCCESS;
}

}  // namespace

Result<Archive> Archive::open(ArchiveSource source, std::string name, const ReadLimits& limits,
                              ReadBudget& budget) {
  Archive archive;
  archive.source_ = std::move(source);
  archive.name_ = std::move(name);
  archive.limits_ = limits;
  archive.budget_ = &budget;
  TRY_STATUS(archive.read_directory());
  TRY_STATUS(archive.bound_entries());
  return archive;
}

Status Archive::read_directory() {
  TRY(Directory directory, find_directory(source_.bytes, name_));
  directory_offset_ = directory.offset;
  if (directory.entries > limits_.archive_entries) {
    return beyond(limits_, &ReadLimits::archive_entries,
                  archive_error(name_, directory.offset, fmt::format("{} entries", directory.entries)));
  }
  Bytes rest = source_.bytes.subspan(directory.offset, directory.size);
  if (directory.entries > rest.size() / central_bytes) {
    return archive_error(name_, directory.offset, "the directory is too short for its entries");
  }
  entries_.reserve(directory.entries);
  index_.reserve(directory.entries);
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    std::size_t position = directory.offset + directory.size - rest.size();
    if (rest.size() < central_bytes || load<std::uint32_t>(rest, 0) != central_signature) {
      return archive_error(name_, position, fmt::format("no directory header for entry {}", i));
    }
    std::size_t size = central_bytes + load<std::uint16_t>(rest, 28) + load<std::uint16_t>(rest, 30) +
                       load<std::uint16_t>(rest, 32);
    if (size > rest.size()) {
      return archive_error(name_, position, fmt::format("the header of entry {} is truncated", i));
    }
    TRY_STATUS(add_entry(rest.first(size), position));
    rest = rest.subspan(size);
  }
  return {};
}

Status Archive::add_entry(Bytes header, std::size_t position) {
  auto name_size = load<std::uint16_t>(header, 28);
  auto extra_size = load<std::uint16_t>(header, 30);
  Bytes name = header.subspan(central_bytes, name_size);
  ArchiveEntry entry{.name = {reinterpret_cast<const char*>(name.data()), name.size()},
                     .size = load<std::uint32_t>(header, 24),
                     .stored_size = load<std::uint32_t>(header, 20),
                     .header_offset = load<std::uint32_t>(header, 42),
                     .crc = load<std::uint32_t>(header, 16),
                     .method = load<std::uint16_t>(header, 10)};
  if (name.size() > limits_.entry_name_bytes) {
    return beyond(limits_, &ReadLimits::entry_name_bytes,
                  archive_error(name_, position, fmt::format("an entry's name has {} bytes", name.size())));
  }
  auto fail = [&](std::string_view what) {
    return archive_error(name_, position, fmt::format("entry {} {}", quote(entry.name), what));
  };
  if (!apply_zip64(header.subspan(central_bytes + name_size, extra_size), entry)) {
    return fail("has no zip64 sizes although it needs them");
  }
  if ((load<std::uint16_t>(header, 8) & encrypted_flags) != 0) return fail("is encrypted");
  auto disk = load<std::uint16_t>(header, 34);
  if (disk != 0 && disk != 0xffff) return fail("is on another disk");
  if (entry.method == stored_method && entry.size != entry.stored_size) {
    return fail("is stored, but its two sizes differ");
  }
  if (!index_.emplace(entry.name, entries_.size()).second) return fail("is there twice");
  entries_.push_back(entry);
  return {};
}

// Sets the end bound of each entry to the start of the next, and rejects overlapping entries.
Status Archive::bound_entries() {
  std::vector<ArchiveEntry*> order;
  order.reserve(entries_.size());
  for (ArchiveEntry& entry : entries_) order.push_back(&entry);
  std::ranges::sort(order, {}, [](const ArchiveEntry* e) { return std::pair(e->header_offset, e->name); });
  std::uint64_t bound = directory_offset_;
  for (auto entry = order.rbegin(); entry != order.rend(); ++entry) {
    ArchiveEntry& e = **entry;
    std::uint64_t fixed = local_bytes + e.name.size();
    if (e.header_offset > bound || bound - e.header_offset < fixed ||
        bound - e.header_offset - fixed < e.stored_size) {
      return archive_error(name_, e.header_offset,
                           fmt::format("entry {} overlaps the next entry or the directory", quote(e.name)));
    }
    e.end_bound = bound;
    bound = e.header_offset;
  }
  return {};
}

const ArchiveEntry* Archive::find(std::string_view name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::optional<std::string_view> Archive::prefix_of(std::string_view file) const {
  std::optional<std::string_view> prefix;
  for (const ArchiveEntry& entry : entries_) {
    if (!entry.name.ends_with(file)) continue;
    std::string_view before = entry.name.substr(0, entry.name.size() - file.size());
    if (!before.empty() && !before.ends_with('/')) continue;
    if (!prefix || before.size() < prefix->size()) prefix = before;
  }
  return prefix;
}

std::string Archive::place(const ArchiveEntry& entry) const {
  return fmt::format("{}: {}", name_, quote(entry.name));
}

Result<Bytes> Archive::stored_bytes(const ArchiveEntry& entry) const {
  std::uint64_t at = entry.header_offset;
  if (load<std::uint32_t>(source_.bytes, at) != local_signature) {
    return archive_error(name_, at,
                         fmt::format("entry {} does not start with a zip header", quote(entry.name)));
  }
  auto name_size = load<std::uint16_t>(source_.bytes, at + 26);
  auto extra_size = load<std::uint16_t>(source_.bytes, at + 28);
  std::uint64_t start = at + local_bytes + name_size + extra_size;
  bool is_same_name = name_size == entry.name.size() &&
                      std::memcmp(source_.bytes.data() + at + local_bytes, entry.name.data(), name_size) == 0;
  if (!is_same_name) {
    return archive_error(name_, at,
                         fmt::format("entry {} has another name in its own header", quote(entry.name)));
  }
  if (start > entry.end_bound || entry.end_bound - start < entry.stored_size) {
    return archive_error(name_, at,
                         fmt::format("entry {} overlaps the next entry or the directory", quote(entry.name)));
  }
  return source_.bytes.subspan(start, entry.stored_size);
}

Result<std::vector<std::byte>> Archive::inflate(const ArchiveEntry& entry, std::size_t padding) const {
  auto fail = [&](std::string_view what) { return failure("read_archive", place(entry), what); };
  if (entry.method != deflated_method) {
    return fail(fmt::format("compression method {} is not supported; supported are stored and deflated",
                            entry.method));
  }
  TRY(Bytes in, stored_bytes(entry));
  if (entry.size > small_entry && entry.size / limits_.inflate_ratio > in.size()) {
    return beyond(limits_, &ReadLimits::inflate_ratio,
                  fail(fmt::format("{} bytes inflate to {}", in.size(), entry.size)));
  }
  if (entry.size > budget_->bytes_left) {
    return beyond(
        limits_, &ReadLimits::inflated_bytes,
        fail(fmt::format("inflates to {} bytes, and {} are left", entry.size, budget_->bytes_left)));
  }
  budget_->bytes_left -= entry.size;
  std::vector<std::byte> out(entry.size + padding);
  if (!inflate_raw(in, std::span(out).first(entry.size))) return fail("the deflated data is damaged");
  if (entry.crc != 0 && checksum(std::span(out).first(entry.size)) != entry.crc) {
    return fail("the checksum does not match the content");
  }
  return out;
}

Result<EntryBytes> Archive::read(const ArchiveEntry& entry) const {
  EntryBytes result;
  if (entry.method == stored_method) {
    TRY(result.bytes, stored_bytes(entry));
    if (entry.crc != 0 && checksum(result.bytes) != entry.crc) {
      return failure("read_archive", place(entry), "the checksum does not match the content");
    }
    const std::byte* end = source_.bytes.data() + source_.bytes.size();
    result.readable_behind = static_cast<std::size_t>(end - (result.bytes.data() + result.bytes.size()));
    return result;
  }
  TRY(result.inflated, inflate(entry, inflate_padding));
  result.bytes = std::span(result.inflated).first(entry.size);
  result.readable_behind = inflate_padding;
  return result;
}

Result<std::shared_ptr<const Storage>> Archive::storage(const ArchiveEntry& entry) const {
  if (entry.method != stored_method) {
    TRY(std::vector<std::byte> bytes, inflate(entry, 0));
    return Storage::owned(std::move(bytes));
  }
  TRY(Bytes bytes, stored_bytes(entry));
  if (source_.file) return Storage::mapped(source_.file, bytes);
  // A slice of an inflated archive is copied on demand.
  return Storage::lazy(bytes.size(), [bytes, owner = source_.storage] {
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  });
}

Result<Archive> Archive::nested(const ArchiveEntry& entry) const {
  std::string name = place(entry);
  if (entry.method == stored_method) {
    TRY(Bytes bytes, stored_bytes(entry));
    return open({.bytes = bytes, .file = source_.file, .storage = source_.storage}, name, limits_, *budget_);
  }
  TRY(std::shared_ptr<const Storage> inflated, storage(entry));
  return open({.bytes = inflated->bytes(), .storage = inflated}, name, limits_, *budget_);
}

}  // namespace depute
