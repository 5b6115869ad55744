// Writes named data as a .ptd file, which a runtime loads with the program:
//
//   flatbuffer (with its header behind the first 8 bytes), padding to 128, segments
//
// A tensor has a layout, which must equal that of the program's value; other data have none. Each name has a
// segment; segments with equal bytes have the same position.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "depute/program/result.h"
#include "schema/execution_plan.h"
#include "support/output.h"
#include "write/blobs.h"
#include "write/segments.h"

namespace depute {

struct PtdEntry {
  std::string key;
  Blob blob;
  std::optional<PlanTensor> layout;
};

// Writes the whole file; the caller commits it. Keys must be distinct.
// Splits entries, in their order, into files of at most `max_bytes` bytes each. Fails if one entry alone needs more;
// `path` names the file in the error.
Result<std::vector<std::vector<PtdEntry>>> split_ptd(std::vector<PtdEntry> entries, std::uint64_t max_bytes,
                                                     std::uint64_t segment_alignment,
                                                     const std::string& path);

Status write_ptd(std::span<const PtdEntry> entries, Output& file, int jobs,
                 std::uint64_t segment_alignment = default_segment_alignment);

}  // namespace depute
