// Writes bytes by name as a .ptd file, which a runtime reads beside the program:
//
//   flatbuffer (with its header behind the first 8 bytes), padding to 128, segments
//
// Tensors have a layout, which must be that of the program's value; other data have none. Names have a
// segment each; where the bytes are equal the segments are the same place.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "depute/result.h"
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

// Writes the whole file, which is still to be committed. Keys are different.
Status write_ptd(std::span<const PtdEntry> entries, Output& file, int jobs,
                 std::uint64_t segment_alignment = default_segment_alignment);

}  // namespace depute
