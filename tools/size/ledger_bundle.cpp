// The ledger of a bundled program: its own tables and test cases around the ledger of its .pte.
//
//   | header, tables, test cases of each method | .pte |
//
// Other writers put the test cases behind the .pte.
#include <fmt/format.h>

#include <unordered_set>

#include "bundled_program_generated.h"
#include "read/flatbuffer_walk.h"
#include "schema/file_layout.h"
#include "tools/size/ledger_files.h"
#include "tools/size/ledger_spans.h"

namespace depute {
namespace {

class BundleTables : public FlatbufferVisitor {
 public:
  BundleTables(const Bundle& bundle, LedgerSpans& spans) : bundle_(bundle), spans_(spans) {}

  std::vector<LedgerSpan> run(std::span<const std::byte> file) {
    walk_flatbuffer(file, bp08::BundledProgramTypeTable(), *this, spans_.label(LedgerKind::Bundle));
    return std::move(found_);
  }

 private:
  Label enter(Label inside, const flatbuffers::TypeTable* table, std::string_view field,
              std::size_t element) override {
    if (table == bp08::BundledProgramTypeTable()) {
      if (field == "program") return program_;
      if (element != whole_field) return spans_.label(LedgerKind::Bundle, bundle_.methods[element]);
    }
    if (table == bp08::TestSuiteTypeTable() && element != whole_field)
      return spans_.label(LedgerKind::BundledCase, spans_.of(inside).owner, fmt::format("{}", element));
    return inside;
  }

  void piece(Piece piece, std::uint64_t begin, std::uint64_t end, Label label) override {
    if (piece == Piece::Vtable) {
      label = spans_.label(LedgerKind::Bundle);
      if (!vtables_.insert(begin).second) return;
    }
    // Of the program, only its length belongs to the bundle.
    if (label == program_) end = begin + sizeof(std::uint32_t);
    found_.push_back({begin, end, label == program_ ? spans_.label(LedgerKind::Bundle) : label});
  }

  static constexpr Label program_ = static_cast<Label>(-1);
  const Bundle& bundle_;
  LedgerSpans& spans_;
  std::unordered_set<std::uint64_t> vtables_;  // already visited
  std::vector<LedgerSpan> found_;
};

}  // namespace

ByteLedger ledger_of_bundle(ByteLedger program, const Bundle& bundle, std::span<const std::byte> bytes) {
  const auto begin = static_cast<std::uint64_t>(bundle.program.data() - bytes.data());
  const std::uint64_t end = begin + bundle.program.size();
  LedgerSpans spans(bytes);
  std::vector<LedgerSpan> found = BundleTables(bundle, spans).run(bytes);
  found.push_back({0, header_position, spans.label(LedgerKind::Bundle)});
  ByteLedger ledger = std::move(program);
  std::vector<LedgerEntry> inside = std::move(ledger.entries);
  ledger.format = "bpte";
  ledger.bytes = bytes.size();
  ledger.entries = spans.entries(spans.settle(found, 0, begin, "bundle"));
  for (LedgerEntry& entry : inside) {
    entry.offset += begin;
    ledger.entries.push_back(std::move(entry));
  }
  std::ranges::move(spans.entries(spans.settle(std::move(found), end, bytes.size(), "bundle")),
                    std::back_inserter(ledger.entries));
  for (Duplicate& duplicate : ledger.duplicates)
    for (LedgerEntry& copy : duplicate.copies) copy.offset += begin;
  return ledger;
}

}  // namespace depute
