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

#include "depute/program.h"
#include "depute/result.h"
#include "depute/write_options.h"
#include "plan/plan.h"
#include "support/output.h"

namespace depute {

// Fails without leaving a file, and without touching an existing one: named data of one key with different
// bytes, alignments that are no powers of two, a program too large for the format, errors of the file system.
// Keys are searched for in all files together, so a key that is both a constant's and a delegate's names the
// same bytes.
Result<WriteSummary> write_pte(const Program& program, const Plan& plan, const std::string& path,
                               const WriteOptions& options = {});

// The same bytes without a file system.
Result<PteBytes> write_pte_bytes(const Program& program, const Plan& plan, const WriteOptions& options = {},
                                 const std::string& path = "program.pte");

// To whatever `open` makes of the paths; all outputs are whole before the first one is committed.
Result<WriteSummary> write_pte_to(const OpenOutput& open, const Program& program, const Plan& plan,
                                  const std::string& path, const WriteOptions& options = {});

}  // namespace depute
