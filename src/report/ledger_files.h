// The ledgers of the two formats, each from what its reader found.
#pragma once

#include <cstddef>
#include <span>

#include "depute/byte_ledger.h"
#include "read/ptd.h"
#include "read/pte.h"

namespace depute {

// `file` was read from `bytes`; `name` is the file's. The diagnostics' places begin with it.
Result<ByteLedger> ledger_of_pte(const PteFile& file, std::span<const std::byte> bytes, std::string_view name,
                                 const Registry& registry);
Result<ByteLedger> ledger_of_ptd(const PtdFile& file, std::span<const std::byte> bytes,
                                 std::string_view name);

// Segments as they lie in the file.
struct PlacedSegment {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string place;  // in the flatbuffer: "segments[2]"
};

// None starts in the flatbuffer, and of two that overlap one lies in the other: so writers share bytes (a
// weight that is a constant and a delegate's). Empty ones may lie anywhere. The diagnostic has a place in the
// flatbuffer.
Status check_nested(std::vector<PlacedSegment> segments, std::uint64_t flatbuffer_end);

}  // namespace depute
