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

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"
#include "plan/plan.h"
#include "support/result.h"

namespace depute {

struct WriteOptions {
  int jobs = 1;  // threads that make and compare bytes
  // The plan's external constants and delegates' named data go to this .ptd file, which is not written when
  // there are none (runtimes take no file without data). Empty: named data stay in the .pte. Named data with
  // a tag go to the file of the tag in any case: external_path().
  std::string ptd;
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

// Fails without leaving a file, and without touching an existing one: named data of one key with different
// bytes, a program too large for the format, errors of the file system. Keys are searched for in all files
// together, so a key that is both a constant's and a delegate's names the same bytes.
Result<WriteSummary> write_pte(const Program& program, const Plan& plan, const std::string& path,
                               const WriteOptions& options = {});

}  // namespace depute
