// Writes a planned program as a .pte file:
//
//   flatbuffer (with the extended header behind its first 8 bytes), padding to 128
//   segment 0: constants        initial values of state, if any        delegates' blobs, then named data
//
// Equal bytes are stored once: a constant, a delegate's blob and named data may share a piece of the file.
// Bytes of a mapped input are copied from file to file; lazy bytes are produced once, written and dropped.
// The output does not depend on the number of jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "depute/compiler/write_options.h"
#include "depute/program/program.h"
#include "depute/program/result.h"
#include "plan/plan.h"
#include "support/output.h"

namespace depute {

// Fails for named data with one key and different bytes, alignments that are not powers of two, programs too
// large for the format, and file system errors. On failure no file is created or changed. Keys must be unique
// over all files: a key of both a constant and a delegate names the same bytes.
Result<WriteSummary> write_pte(const Program& program, const Plan& plan, const std::string& path,
                               const WriteOptions& options = {});

// Like write_pte(), but returns the bytes.
Result<PteFile> write_pte_bytes(const Program& program, const Plan& plan, const WriteOptions& options = {},
                                const std::string& path = "program.pte");

// Like write_pte(), but writes to the outputs that `open` returns for the paths. All outputs are complete
// before the first is committed.
Result<WriteSummary> write_pte_to(const OpenOutput& open, const Program& program, const Plan& plan,
                                  const std::string& path, const WriteOptions& options = {});

struct ProgramToWrite {
  const Program& program;
  const Plan& plan;
  std::string path;
  WriteOptions options;
};

// Like write_pte_to(), for programs of one model, at least one, with the same options. They share their .ptd files, where each name has
// the same bytes for all of them: a constant that differs gets another name, "weight@2" in the second program.
Result<std::vector<WriteSummary>> write_ptes_to(const OpenOutput& open,
                                                std::span<const ProgramToWrite> programs);

}  // namespace depute
