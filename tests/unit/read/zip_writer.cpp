#include "zip_writer.h"

#include <libdeflate.h>

#include <new>

namespace depute {
namespace {

constexpr std::uint32_t full = 0xffffffff;

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

std::string deflated(const std::string& content) {
  libdeflate_compressor* deflater = libdeflate_alloc_compressor(9);
  if (deflater == nullptr) throw std::bad_alloc();
  std::string out(libdeflate_deflate_compress_bound(deflater, content.size()), '\0');
  out.resize(libdeflate_deflate_compress(deflater, content.data(), content.size(), out.data(), out.size()));
  libdeflate_free_compressor(deflater);
  return out;
}

// What both headers of an entry say.
struct Fields {
  std::uint16_t flags;
  std::uint16_t method;
  std::uint32_t crc;
  std::uint64_t stored;
  std::uint64_t size;
  std::uint64_t offset;
};

void put_common(std::string& out, const Fields& fields, bool hide_sizes, bool zip64) {
  put(out, 45, 2);
  put(out, fields.flags, 2);
  put(out, fields.method, 2);
  put(out, 0, 4);  // time and date
  put(out, hide_sizes ? 0 : fields.crc, 4);
  put(out, hide_sizes ? 0 : zip64 ? full : fields.stored, 4);
  put(out, hide_sizes ? 0 : zip64 ? full : fields.size, 4);
}

void put_local(std::string& out, const ZipEntry& entry, const Fields& fields) {
  std::string name = entry.local_name.value_or(entry.name);
  std::string extra;
  if (entry.zip64 && !entry.descriptor) {
    put(extra, 1, 2);
    put(extra, 16, 2);
    put(extra, fields.size, 8);
    put(extra, fields.stored, 8);
  }
  if (entry.extra > 0) {
    put(extra, 0x4246, 2);
    put(extra, entry.extra, 2);
    extra += std::string(entry.extra, 'Z');
  }
  put(out, 0x04034b50, 4);
  put_common(out, fields, entry.descriptor, entry.zip64);
  put(out, name.size(), 2);
  put(out, extra.size(), 2);
  out += name + extra;
}

void put_central(std::string& out, const ZipEntry& entry, const Fields& fields) {
  std::string extra;
  if (entry.zip64) {
    put(extra, 1, 2);
    put(extra, 24, 2);
    put(extra, fields.size, 8);
    put(extra, fields.stored, 8);
    put(extra, fields.offset, 8);
  }
  put(out, 0x02014b50, 4);
  put(out, 45, 2);
  put_common(out, fields, false, entry.zip64);
  put(out, entry.name.size(), 2);
  put(out, extra.size(), 2);
  put(out, 0, 2);  // comment
  put(out, 0, 2);  // disk
  put(out, 0, 6);  // attributes
  put(out, entry.zip64 ? full : fields.offset, 4);
  out += entry.name + extra;
}

void put_end(std::string& out, std::size_t entries, std::uint64_t directory, const ZipOptions& options) {
  std::uint64_t size = out.size() - directory;
  if (options.zip64_end) {
    std::uint64_t at = out.size();
    put(out, 0x06064b50, 4);
    put(out, 44, 8);
    put(out, 45, 2);
    put(out, 45, 2);
    put(out, 0, 8);  // disks
    put(out, entries, 8);
    put(out, entries, 8);
    put(out, size, 8);
    put(out, directory, 8);
    put(out, 0x07064b50, 4);
    put(out, 0, 4);
    put(out, at, 8);
    put(out, 1, 4);
  }
  put(out, 0x06054b50, 4);
  put(out, 0, 4);  // disks
  put(out, options.zip64_end ? 0xffff : entries, 2);
  put(out, options.zip64_end ? 0xffff : entries, 2);
  put(out, options.zip64_end ? full : size, 4);
  put(out, options.zip64_end ? full : directory, 4);
  put(out, options.comment.size(), 2);
  out += options.comment;
}

}  // namespace

std::string make_zip(const std::vector<ZipEntry>& entries, const ZipOptions& options) {
  std::string out;
  std::string directory;
  for (const ZipEntry& entry : entries) {
    std::string stored = entry.deflate ? deflated(entry.content) : entry.content;
    std::uint32_t crc = libdeflate_crc32(0, entry.content.data(), entry.content.size());
    Fields fields{.flags = static_cast<std::uint16_t>(entry.flags | (entry.descriptor ? 8 : 0)),
                  .method = entry.method.value_or(entry.deflate ? 8 : 0),
                  .crc = entry.crc.value_or(crc),
                  .stored = stored.size(),
                  .size = entry.size.value_or(static_cast<std::uint32_t>(entry.content.size())),
                  .offset = out.size()};
    put_local(out, entry, fields);
    out += stored;
    if (entry.descriptor) {
      put(out, 0x08074b50, 4);
      put(out, fields.crc, 4);
      put(out, fields.stored, entry.zip64 ? 8 : 4);
      put(out, fields.size, entry.zip64 ? 8 : 4);
    }
    put_central(directory, entry, fields);
  }
  std::uint64_t start = out.size();
  out += directory;
  put_end(out, entries.size(), start, options);
  return out;
}

}  // namespace depute
