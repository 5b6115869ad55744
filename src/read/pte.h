// Reads a .pte file into plain structs, for `depute show` and for checks of written files. The file is not
// trusted: every offset, index and size is checked before use, and errors name the place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "depute/program/result.h"
#include "schema/execution_plan.h"

namespace depute {

struct PteSegment {
  std::uint64_t offset = 0;  // from the segment base; for an inline blob, from the file's start
  std::uint64_t size = 0;
};

struct PteNamedData {
  std::string key;
  std::uint32_t segment = 0;
};

struct PteContents {
  std::uint32_t version = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t flatbuffer_bytes = 0;  // including the extended header
  std::uint64_t segment_base = 0;      // 0: no segments
  std::vector<ExecutionPlan> methods;
  std::vector<PteSegment> segments;
  std::vector<PteSegment> inline_blobs;  // blobs inside the flatbuffer
  std::uint32_t constant_segment = 0;
  std::vector<std::uint64_t> constant_offsets;  // [0] is unused
  std::uint32_t mutable_segment = 0;
  std::vector<std::uint64_t> mutable_offsets;  // initial values of state; [0] is unused
  std::vector<PteNamedData> named_data;
};

// `name` names the file in errors. A file that fails here would not load either. A file that passes may still
// need kernels or backends that a runtime lacks.
Result<PteContents> read_pte(std::span<const std::byte> file, const std::string& name);

// Returns the bytes of a delegate; `file` was read from `bytes`.
std::span<const std::byte> delegate_bytes(const PteContents& file, const PlanDelegate& delegate,
                                          std::span<const std::byte> bytes);

// The method of this name, or without a name the only one. Fails with the names of all: `name` is the value of
// --method.
Result<const ExecutionPlan*> find_method(const PteContents& file, const std::string& name);

// True if the first bytes are those of a .pte file.
bool is_pte(std::span<const std::byte> file);

}  // namespace depute
