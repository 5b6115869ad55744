// Writes small zip archives for tests, in all the ways a zip file can be written, and some that are wrong.
//
//   std::string bytes = make_zip({{.name = "a/x.json", .content = "{}", .deflate = true}});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace depute {

struct ZipEntry {
  std::string name;
  std::string content;
  bool deflate = false;
  bool descriptor = false;  // sizes behind the content instead of in front of it
  bool zip64 = false;       // sizes and offset in zip64 extra fields
  std::uint16_t flags = 0;
  std::size_t extra = 0;                       // bytes of a foreign extra field, as alignment padding
  std::optional<std::uint16_t> method = {};    // what the headers say, whatever the content is
  std::optional<std::uint32_t> crc = {};       // the same
  std::optional<std::uint32_t> size = {};      // the same
  std::optional<std::string> local_name = {};  // the same, in the entry's own header
};

struct ZipOptions {
  std::string comment;
  bool zip64_end = false;
};

std::string make_zip(const std::vector<ZipEntry>& entries, const ZipOptions& options = {});

}  // namespace depute
