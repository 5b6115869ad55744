// The ledgers of all file formats, based on their readers' results.
#pragma once

#include <cstddef>
#include <span>

#include "depute/tools/bundle.h"
#include "depute/tools/byte_ledger.h"
#include "read/ptd.h"
#include "read/pte.h"

namespace depute {

// `file` was read from `bytes`. `name` is the file's name, which starts the location in diagnostics.
Result<ByteLedger> ledger_of_pte(const PteContents& file, std::span<const std::byte> bytes,
                                 std::string_view name, const Registry& registry);
Result<ByteLedger> ledger_of_ptd(const PtdFile& file, std::span<const std::byte> bytes,
                                 std::string_view name);

// Adds the rest of a bundled program to the ledger of its .pte. `bundle` was read from `bytes`.
ByteLedger ledger_of_bundle(ByteLedger program, const Bundle& bundle, std::span<const std::byte> bytes);

// A segment's position in the file.
struct PlacedSegment {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string place;  // in the flatbuffer: "segments[2]"
};

// Fails if a segment starts in the flatbuffer, or if two segments overlap without one containing the other.
// Nested segments are valid: writers share bytes (a weight that is a constant and a delegate's data). Empty
// segments are ignored. The diagnostic names the place in the flatbuffer.
Status check_nested(std::vector<PlacedSegment> segments, std::uint64_t flatbuffer_end);

}  // namespace depute
