// Where the bytes of a .pte or .ptd file go: a ledger in which each byte of the file is counted once.
//
//   DEPUTE_TRY(ByteLedger ledger, byte_ledger(bytes, "model.pte", compiler.registry()));
//   for (const LedgerEntry& entry : ledger.entries) total += entry.bytes;   // == ledger.bytes, always
//   for (const Duplicate& duplicate : ledger.duplicates) waste += duplicate.saves;
//
// docs/cli.md ("depute size") has the text and JSON forms. What delegates hold is told by their backends, as
// far as these can (Backend::layout).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/registry.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

enum class LedgerKind : std::uint8_t {
  // --- what is small and there once
  Header,         // the flatbuffer's root offset and identifier, and where the segments are
  Program,        // what joins the parts: the program's own table and its lists
  SegmentTable,   // where each segment lies
  ConstantTable,  // where each constant and initial value lies in its segment
  DataTable,      // which key has which segment
  Vtables,        // what flatbuffer tables share to find their fields
  // --- of one method
  Method,        // its own table: inputs, outputs, sizes of planned memory
  Values,        // tensors' types and shapes, numbers, lists
  Instructions,  // calls of kernels and delegates with their arguments
  Operators,     // the kernels that are called
  Delegates,     // which payload each has, compile specs
  StackTraces,   // lines of the model's source
  // --- of a method or of all
  Strings,  // names and texts of the flatbuffer; the entry's name tells of which of the kinds above
  // --- weights
  Constant,      // of portable kernels
  InitialValue,  // of state
  NamedData,     // bytes by key, of delegates or of other programs
  PayloadConstant,
  // --- what delegates execute
  Payload,  // one that its backend does not tell more of
  PayloadHeader,
  PayloadTables,
  // --- what nothing needs
  UnusedSegment,
  Padding,   // zeros between others, for alignment
  Unclaimed  // bytes that are not zero and that no part of the format known here refers to
};

inline constexpr int ledger_kind_count = 23;

std::string_view name(LedgerKind kind);  // "payload constant"

// Bytes side by side that are the same thing's. Up to seven zeros that align its pieces count as its own.
struct LedgerEntry {
  std::uint64_t offset = 0;  // from the file's start
  std::uint64_t bytes = 0;
  LedgerKind kind = LedgerKind::Unclaimed;
  // The method ("forward"), or "delegate 0 of forward (BackendId)"; of what several use, all of them with
  // ", " between; empty: the file's own.
  std::string owner = {};
  // Of weights: the name that the file gives, else value, type and shape of the first use ("%3: f32[2, 3]").
  std::string name = {};
};

// The same bytes at several places. Copies have the kind Payload where whole payloads are equal.
struct Duplicate {
  std::vector<LedgerEntry> copies = {};
  std::uint64_t saves = 0;  // without what aligns them; 0 where the format cannot share these
  std::string how = {};     // what could be shared, a sentence
};

struct ByteLedger {
  std::string file = {};    // its name, as it was given
  std::string format = {};  // "pte" or "ptd"
  std::uint64_t bytes = 0;
  std::vector<LedgerEntry> entries = {};   // by offset, from 0 to the end without a gap
  std::vector<Duplicate> duplicates = {};  // what saves most first

  std::uint64_t savable() const;  // of all duplicates
};

// `name` is the file's, for messages. Fails where the file is damaged: with the place, and for no size or
// content with a crash. Segments that
// overlap are damage, too, unless one lies in the other.
Result<ByteLedger> byte_ledger(std::span<const std::byte> file, std::string_view name,
                               const Registry& registry);

// What `depute size` prints: groups with their percentage, the largest first, of each group the `top` largest
// entries; 0: all.
std::string ledger_text(const ByteLedger& ledger, std::size_t top);
std::string ledger_json(const ByteLedger& ledger);

}  // namespace depute

#pragma GCC visibility pop
