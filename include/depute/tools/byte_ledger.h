// ByteLedger: attributes each byte of a .pte, .bpte or .ptd file to exactly one entry.
//
//   DEPUTE_TRY(ByteLedger ledger, byte_ledger(bytes, "model.pte", compiler.registry()));
//   for (const LedgerEntry& entry : ledger.entries) total += entry.bytes;   // == ledger.bytes, always
//   for (const Duplicate& duplicate : ledger.duplicates) waste += duplicate.saves;
//
// docs/cli.md ("depute size") describes the text and JSON forms. Entries inside delegate payloads come from
// Backend::layout, if the backend implements it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/backend/registry.h"
#include "depute/program/result.h"
#include "depute/tools/load_memory.h"

namespace depute {

enum class LedgerKind : std::uint8_t {
  // --- small parts that occur once
  Header,         // root offset and identifier of the flatbuffer, location of the segments
  Program,        // root table of the program and its lists
  SegmentTable,   // location of each segment
  ConstantTable,  // location of each constant and initial value in its segment
  DataTable,      // segment of each key
  Vtables,        // flatbuffer tables share these to find their fields
  // --- parts of one method
  Method,        // method table: inputs, outputs, sizes of planned memory
  Values,        // tensors' types and shapes, numbers, lists
  Instructions,  // calls of kernels and delegates with their arguments
  Operators,     // kernels called by the method
  Delegates,     // payload and compile specs of each delegate
  StackTraces,   // source lines of the model
  // --- parts of one method or of several
  Strings,  // names and texts of the flatbuffer; LedgerEntry::name says which of the kinds above uses them
  // --- weights
  Constant,      // constants of portable kernels
  InitialValue,  // initial values of mutable buffers
  NamedData,     // data by key, used by delegates or by other programs
  PayloadConstant,
  // --- data executed by delegates
  Payload,  // payload whose backend does not list its parts
  PayloadHeader,
  PayloadTables,
  // --- a bundled program, around its .pte
  Bundle,       // tables of the bundle itself
  BundledCase,  // inputs and expected outputs of a test case
  // --- unused bytes
  UnusedSegment,
  Padding,   // zeros between other entries, for alignment
  Unclaimed  // nonzero bytes that no known part of the format refers to
};

inline constexpr int ledger_kind_count = 25;

DEPUTE_API std::string_view name(LedgerKind kind);  // "payload constant"

// A contiguous range of bytes with one purpose. Up to seven zeros that align its pieces belong to it.
struct LedgerEntry {
  std::uint64_t offset = 0;  // bytes from the start of the file
  std::uint64_t bytes = 0;
  LedgerKind kind = LedgerKind::Unclaimed;
  // The method ("forward") or the delegate ("delegate 0 of forward (BackendId)"). Several owners are joined
  // with ", "; empty means the file itself.
  std::string owner = {};
  // Name of a weight: the name in the file, else value, type and shape of its first use ("%3: f32[2, 3]").
  std::string name = {};
};

// Equal bytes in several places. Copies have the kind Payload if whole payloads are equal.
struct Duplicate {
  std::vector<LedgerEntry> copies = {};
  // Bytes saved by sharing, without alignment; 0 if the format cannot share these copies.
  std::uint64_t saves = 0;
  std::string how = {};  // a sentence that says which objects could share the bytes
};

struct DEPUTE_API ByteLedger {
  std::string file = {};    // name passed to byte_ledger()
  std::string format = {};  // "pte", "bpte" or "ptd"
  std::uint64_t bytes = 0;
  std::vector<LedgerEntry> entries = {};     // by offset, without gaps from 0 to the end of the file
  std::vector<Duplicate> duplicates = {};    // largest saving first
  std::vector<LoadMemory> load_memory = {};  // of a .pte or .bpte

  std::uint64_t savable() const;  // bytes, sum over all duplicates
};

// Makes the ledger of a file. `name` is the file's name for messages. Fails with a position if the file is
// damaged, and never crashes, whatever the bytes are. Overlapping segments count as damage unless one
// contains the other.
DEPUTE_API Result<ByteLedger> byte_ledger(std::span<const std::byte> file, std::string_view name,
                                          const Registry& registry);

// Text output of `depute size`: groups with their percentage, largest first, and the `top` largest entries of
// each group (0: all entries).
DEPUTE_API std::string ledger_text(const ByteLedger& ledger, std::size_t top);
DEPUTE_API std::string ledger_json(const ByteLedger& ledger);

}  // namespace depute
