// Writes a planned program as a .pte file:
//
//   flatbuffer (with the extended header behind its first 8 bytes), padding to 128
//   segment 0: constants        initial values of state, if any        delegates' blobs, then named data
//
// Equal bytes are stored once, wherever they are used: a constant, a delegate's blob and named data may be
// the same piece of the file. Bytes that lie in a mapped input go from file to file; bytes that are made on
// demand are made once, written and dropped. The same program gives the same file, whatever the number of
// jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "plan/plan.h"
#include "support/output.h"
#include "support/result.h"

namespace depute {

struct WriteOptions {
  int jobs = 1;  // threads that make and compare bytes
  // The plan's external constants and delegates' named data go to this .ptd file, which is not written when
  // there are none (runtimes take no file without data). Empty: named data stay in the .pte. Named data with
  // a tag go to the file of the tag in any case: external_path().
  std::string ptd;
  // Delegates' bytes become segments, which a runtime can read one by one and free; false: they lie in the
  // flatbuffer, whose size is bounded (2 GiB).
  bool extract_delegate_segments = true;
  // Of the places in the file, powers of two: of all segments, and of delegates' bytes wherever they lie.
  std::uint64_t segment_alignment = 128;
  std::uint64_t delegate_alignment = 16;
  bool verified = false;  // verify_input() has passed the program, and the plan is one of it
};

// Larger ones would make a file of padding.
inline constexpr std::uint64_t max_alignment = std::uint64_t{1} << 24;

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

// Fails without leaving a file, and without touching an existing one: named data of one key with different
// bytes, alignments that are no powers of two, a program too large for the format, errors of the file system.
// Keys are searched for in all files together, so a key that is both a constant's and a delegate's names the
// same bytes.
Result<WriteSummary> write_pte(const Program& program, const Plan& plan, const std::string& path,
                               const WriteOptions& options = {});

// The same bytes without a file system.
struct PteBytes {
  std::vector<std::byte> pte;
  std::map<std::string, std::vector<std::byte>> external;  // .ptd files by the path they would have
  WriteSummary summary;
};
Result<PteBytes> write_pte_bytes(const Program& program, const Plan& plan, const WriteOptions& options = {},
                                 const std::string& path = "program.pte");

// To whatever `open` makes of the paths; all outputs are whole before the first one is committed.
Result<WriteSummary> write_pte_to(const OpenOutput& open, const Program& program, const Plan& plan,
                                  const std::string& path, const WriteOptions& options = {});

}  // namespace depute
