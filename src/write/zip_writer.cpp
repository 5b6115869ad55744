// Writes the records of a zip archive: a header before each entry, then the directory and its end record.
// Numbers above 32 bits are stored in zip64 records.
//
//   PK 3 4 | crc, sizes, lengths | name | extra: padding up to a multiple of 64 | the entry's bytes
#include "write/zip_writer.h"

#include <libdeflate.h>

#include <algorithm>

#include "support/try.h"

namespace depute {
namespace {

constexpr std::uint64_t zip_alignment = 64;
constexpr std::uint64_t full32 = 0xffffffff;
constexpr std::uint64_t full16 = 0xffff;
constexpr std::uint64_t zip64_version = 45;
constexpr std::uint64_t zip64_tag = 1;
constexpr std::uint64_t padding_tag = 0x4246;  // "FB", like torch

// Builds little-endian records.
class ZipRecord {
 public:
  ZipRecord& number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  ZipRecord& text(std::string_view value) {
    text_ += value;
    return *this;
  }
  // Appends the low 32 bits, or the mark that a zip64 record holds the number.
  ZipRecord& low(std::uint64_t value) { return number(std::min(value, full32), 4); }

  const std::string& str() const { return text_; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text_)); }

 private:
  std::string text_;
};

// Returns the zip64 field for the numbers above 32 bits; empty if all fit.
std::string zip64_field(std::initializer_list<std::uint64_t> numbers) {
  ZipRecord values;
  for (std::uint64_t number : numbers) {
    if (number >= full32) values.number(number, 8);
  }
  if (values.str().empty()) return {};
  return ZipRecord().number(zip64_tag, 2).number(values.str().size(), 2).text(values.str()).str();
}

std::uint32_t checksum(std::span<const std::byte> bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

}  // namespace

Status ZipWriter::add(const std::string& name, std::span<const std::byte> bytes) {
  if (name.size() > full16) return failure("write", name.substr(0, 80), "the name of the entry is too long");
  Entry entry{.name = name, .crc = checksum(bytes), .size = bytes.size(), .offset = output_.position()};
  // If a header has one size in zip64, it has both.
  std::string extra = zip64_field({entry.size, entry.size});
  constexpr std::uint64_t fixed = 30;
  const std::uint64_t start = entry.offset + fixed + name.size() + extra.size() + 4;
  const std::uint64_t padding = (zip_alignment - start % zip_alignment) % zip_alignment;
  extra += ZipRecord().number(padding_tag, 2).number(padding, 2).text(std::string(padding, 'Z')).str();
  ZipRecord header;
  header.number(0x04034b50, 4).number(zip64_version, 2).number(0, 2).number(0, 2).number(0, 4);
  header.number(entry.crc, 4).low(entry.size).low(entry.size);
  header.number(name.size(), 2).number(extra.size(), 2).text(name).text(extra);
  TRY_STATUS(output_.write(header.bytes()));
  TRY_STATUS(output_.write(bytes));
  entries_.push_back(std::move(entry));
  return {};
}

Status ZipWriter::add(const std::string& name, std::string_view text) {
  return add(name, std::as_bytes(std::span(text)));
}

Status ZipWriter::finish() {
  const std::uint64_t start = output_.position();
  for (const Entry& entry : entries_) {
    const std::string extra = zip64_field({entry.size, entry.size, entry.offset});
    ZipRecord record;
    record.number(0x02014b50, 4).number(zip64_version, 2).number(zip64_version, 2);
    record.number(0, 2).number(0, 2).number(0, 4).number(entry.crc, 4).low(entry.size).low(entry.size);
    record.number(entry.name.size(), 2).number(extra.size(), 2).number(0, 2).number(0, 2);
    record.number(0, 6).low(entry.offset).text(entry.name).text(extra);
    TRY_STATUS(output_.write(record.bytes()));
  }
  const std::uint64_t end = output_.position();
  ZipRecord record;
  if (entries_.size() >= full16 || end >= full32) {
    record.number(0x06064b50, 4).number(44, 8).number(zip64_version, 2).number(zip64_version, 2);
    record.number(0, 8).number(entries_.size(), 8).number(entries_.size(), 8);
    record.number(end - start, 8).number(start, 8);
    record.number(0x07064b50, 4).number(0, 4).number(end, 8).number(1, 4);
  }
  const std::uint64_t count = std::min<std::uint64_t>(entries_.size(), full16);
  record.number(0x06054b50, 4).number(0, 4).number(count, 2).number(count, 2);
  record.low(end - start).low(start).number(0, 2);
  return output_.write(record.bytes());
}

}  // namespace depute
