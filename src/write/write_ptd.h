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

#include "schema/execution_plan.h"
#include "support/output_file.h"
#include "support/result.h"
#include "write/blobs.h"

namespace depute {

struct PtdEntry {
  std::string key;
  Blob blob;
  std::optional<PlanTensor> layout;
};

// The whole file, still to be committed. Keys are different.
Result<OutputFile> write_ptd(std::span<const PtdEntry> entries, const std::string& path, int jobs);

}  // namespace depute
