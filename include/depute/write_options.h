// How a program is laid out in a .pte file, and what was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace depute {

// A .ptd file for the data whose names match a pattern.
struct DataFile {
  std::string path = {};
  // A name in the model, in which '*' stands for any text: "layers.*", "*lora*". Data that a delegate made of
  // several constants match when one of the names does.
  std::string pattern = "*";
  friend bool operator==(const DataFile&, const DataFile&) = default;
};

struct WriteOptions {
  int jobs = 1;  // threads that make and compare bytes
  // The plan's external constants and delegates' named data go to the first of these .ptd files that they
  // match; a file is not written when there are none (runtimes take no file without data). What matches none
  // stays in the .pte. Named data with a tag go to the file of the tag in any case: external_path().
  std::vector<DataFile> ptd = {};
  // Delegates' bytes become segments, which a runtime can read one by one and free; false: they lie in the
  // flatbuffer, whose size is bounded (2 GiB). Those of backends that need it lie there in any case
  // (PreprocessResult::inline_bytes).
  bool extract_delegate_segments = true;
  // Of the places in the file, powers of two up to max_alignment (program.h): of all segments, and of
  // delegates' bytes wherever they lie.
  std::uint64_t segment_alignment = 128;
  std::uint64_t delegate_alignment = 16;
  // False: a runtime's caller gives the memory of a method's inputs or outputs before each call, and none is
  // planned for them.
  bool alloc_inputs = true;
  bool alloc_outputs = true;
  bool verified = false;  // verify_input() has passed the program, and the plan is one of it
};

struct WrittenFile {
  std::string path;
  std::uint64_t bytes = 0;
};

struct WriteSummary {
  std::uint64_t file_bytes = 0;
  std::uint64_t flatbuffer_bytes = 0;
  std::uint64_t constant_bytes = 0;         // segment 0
  std::vector<WrittenFile> external_files;  // .ptd
  std::vector<std::string> warnings;
};

// The .ptd file of a tag: "dir/model_lora.ptd" beside `path`, which is "dir/model.pte" or "dir/model.ptd".
std::string external_path(const std::string& path, const std::string& tag);

// A program in memory.
struct PteBytes {
  std::vector<std::byte> pte;
  std::map<std::string, std::vector<std::byte>> external;  // .ptd files by the path they would have
  WriteSummary summary;
};

}  // namespace depute

#pragma GCC visibility pop
