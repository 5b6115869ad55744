// Implements `depute size`: chooses the ledger for the file's format and prints it as text, which groups
// bytes by their use: weights, each method's tables, delegates, the file itself, padding.
//
//   weights                            11428   91.9%
//     "conv.weight", forward            6912   55.6%
//     2 more                            4516   36.3%
#include "depute/tools/byte_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "depute/program/result.h"
#include "depute/tools/bundle.h"
#include "plan/plan_text.h"
#include "support/guarded.h"
#include "support/number_text.h"
#include "support/try.h"
#include "tools/bundle/program_part.h"
#include "tools/check/method_memory.h"
#include "tools/document/document.h"
#include "tools/size/ledger_files.h"
#include "tools/size/weight_names.h"

namespace depute {
namespace {

// The group in the text to which a kind belongs.
enum class Place : std::uint8_t { File, OwnMethod, Weights, Delegates, TestCases, Padding };

struct KindRow {
  LedgerKind kind;
  std::string_view name;
  Place place;
};

constexpr std::array kind_rows = {
    KindRow{LedgerKind::Header, "header", Place::File},
    KindRow{LedgerKind::Program, "program", Place::File},
    KindRow{LedgerKind::SegmentTable, "segment table", Place::File},
    KindRow{LedgerKind::ConstantTable, "constant table", Place::File},
    KindRow{LedgerKind::DataTable, "data table", Place::File},
    KindRow{LedgerKind::Vtables, "vtables", Place::File},
    KindRow{LedgerKind::Method, "method", Place::OwnMethod},
    KindRow{LedgerKind::Values, "values", Place::OwnMethod},
    KindRow{LedgerKind::Instructions, "instructions", Place::OwnMethod},
    KindRow{LedgerKind::Operators, "operators", Place::OwnMethod},
    KindRow{LedgerKind::Delegates, "delegates", Place::OwnMethod},
    KindRow{LedgerKind::StackTraces, "stack traces", Place::OwnMethod},
    KindRow{LedgerKind::Strings, "strings", Place::OwnMethod},  // strings without a method belong to the file
    KindRow{LedgerKind::Constant, "constant", Place::Weights},
    KindRow{LedgerKind::InitialValue, "initial value", Place::Weights},
    KindRow{LedgerKind::NamedData, "named data", Place::Weights},
    KindRow{LedgerKind::PayloadConstant, "payload constant", Place::Weights},
    KindRow{LedgerKind::Payload, "payload", Place::Delegates},
    KindRow{LedgerKind::PayloadHeader, "payload header", Place::Delegates},
    KindRow{LedgerKind::PayloadTables, "payload tables", Place::Delegates},
    KindRow{LedgerKind::Bundle, "bundle", Place::TestCases},
    KindRow{LedgerKind::BundledCase, "test case", Place::TestCases},
    KindRow{LedgerKind::UnusedSegment, "unused segment", Place::Padding},
    KindRow{LedgerKind::Padding, "padding", Place::Padding},
    KindRow{LedgerKind::Unclaimed, "unclaimed", Place::Padding},
};
static_assert(kind_rows.size() == ledger_kind_count);
static_assert(std::ranges::all_of(kind_rows, [](const KindRow& row) {
  return &row - kind_rows.data() == static_cast<std::ptrdiff_t>(row.kind);
}));

const KindRow& row_of(LedgerKind kind) {
  return kind_rows[static_cast<std::size_t>(kind)];
}

std::string group_of(const LedgerEntry& entry) {
  switch (row_of(entry.kind).place) {
    case Place::File:
      return "tables of the file";
    case Place::OwnMethod:
      return entry.owner.empty() ? "tables of the file" : "method " + entry.owner;
    case Place::Weights:
      return "weights";
    case Place::Delegates:
      return "delegates";
    case Place::TestCases:
      return "test cases";
    case Place::Padding:
      return "padding and unused";
  }
  std::unreachable();
}

// The entry's words in its group; entries with the same words become one line.
std::string words_of(const LedgerEntry& entry) {
  const KindRow& row = row_of(entry.kind);
  const bool is_in_group_of_owner = row.place == Place::OwnMethod;
  std::string words(row.name);
  if (entry.kind == LedgerKind::Strings) words += " of " + entry.name;
  if (entry.kind != LedgerKind::Strings && !entry.name.empty()) words += " " + weight_name(entry.name);
  if (!is_in_group_of_owner && !entry.owner.empty()) words += ", " + entry.owner;
  return words;
}

using Sizes = std::map<std::string, std::uint64_t>;  // bytes by words

std::vector<std::pair<std::string, std::uint64_t>> largest_first(const Sizes& sizes) {
  std::vector<std::pair<std::string, std::uint64_t>> order(sizes.begin(), sizes.end());
  std::ranges::stable_sort(order, std::ranges::greater(), [](const auto& entry) { return entry.second; });
  return order;
}

doc::Table size_table(const ByteLedger& ledger, std::size_t top) {
  Sizes totals;
  std::map<std::string, Sizes> groups;
  for (const LedgerEntry& entry : ledger.entries) {
    totals[group_of(entry)] += entry.bytes;
    groups[group_of(entry)][words_of(entry)] += entry.bytes;
  }
  doc::Table table{
      .columns = {doc::number("bytes"),
                  {.name = "share", .kind = doc::Column::Kind::Percent, .min_width = 6, .gap = " "},
                  {"what"}},
      .indent = 0};
  const auto add = [&](std::uint64_t bytes, std::string words) {
    table.rows.push_back(
        {{std::to_string(bytes), fmt::format("{:.1f}%", percent(bytes, ledger.bytes)), std::move(words)}});
  };
  for (const auto& [group, total] : largest_first(totals)) {
    add(total, group);
    auto rows = largest_first(groups[group]);
    const std::size_t shown = shown_of(rows.size(), top);
    std::uint64_t rest = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i < shown) add(rows[i].second, "  " + rows[i].first);
      if (i >= shown) rest += rows[i].second;
    }
    if (rest != 0) add(rest, fmt::format("  {} more", rows.size() - shown));
  }
  add(ledger.bytes, "total");
  return table;
}

void add_duplicates(const ByteLedger& ledger, std::size_t top, doc::Document& document) {
  if (ledger.duplicates.empty()) return;
  document.print("bytes that occur more than once; sharing them would save {}", ledger.savable());
  const std::size_t shown = shown_of(ledger.duplicates.size(), top);
  for (std::size_t i = 0; i < shown; ++i) {
    const Duplicate& duplicate = ledger.duplicates[i];
    document.print("  {} saved of {} copies of {}: {}", duplicate.saves, duplicate.copies.size(),
                   duplicate.copies[0].bytes, duplicate.how);
    for (const LedgerEntry& copy : duplicate.copies)
      document.print("    at {}: {}", copy.offset, words_of(copy));
  }
  if (const std::size_t more = ledger.duplicates.size() - shown; more > 0) document.print("  {} more", more);
}

// Lists arenas of methods that have several, as state or memory banks give them.
void add_arenas(const std::vector<LoadMemory>& all, doc::Document& document) {
  doc::Table table{.title = "bytes of arenas", .columns = {{""}, doc::number("planned")}, .has_names = true};
  std::string_view last;
  for (const LoadMemory& each : all) {
    if (each.arenas.size() < 2 || each.method == last) continue;
    last = each.method;
    for (std::size_t i = 0; i < each.arenas.size(); ++i)
      table.rows.push_back(
          {{fmt::format("{}, memory {}", each.method, i + 1), std::to_string(each.arenas[i])}});
  }
  if (!table.rows.empty()) document.add(std::move(table));
}

void add_load_memory(const std::vector<LoadMemory>& all, doc::Document& document) {
  if (all.empty()) return;
  doc::Table table{.title = "bytes to load",
                   .columns = {{""},
                               doc::number("tables"),
                               doc::number("temporary"),
                               doc::number("or alone"),
                               doc::number("planned"),
                               doc::number("outputs")},
                   .has_names = true};
  for (const LoadMemory& each : all) {
    std::string label =
        fmt::format("{}, ExecuTorch {}, {} bits", each.method, fmt::join(each.runtimes, " and "), each.bits);
    if (!each.unknown_backends.empty())
      label += fmt::format(", without {}", fmt::join(each.unknown_backends, ", "));
    table.rows.push_back(
        {{std::move(label), std::to_string(each.tables), std::to_string(each.temporary),
          std::to_string(each.alone), std::to_string(each.planned), std::to_string(each.outputs)}});
  }
  document.add(std::move(table));
}

}  // namespace

std::string_view name(LedgerKind kind) {
  return row_of(kind).name;
}

std::uint64_t ByteLedger::savable() const {
  std::uint64_t sum = 0;
  for (const Duplicate& duplicate : duplicates) sum += duplicate.saves;
  return sum;
}

Result<ByteLedger> byte_ledger(std::span<const std::byte> file, std::string_view name,
                               const Registry& registry) {
  return guarded([&]() -> Result<ByteLedger> {
    if (is_ptd(file)) {
      TRY(const PtdFile ptd, read_ptd(file, std::string(name)));
      return ledger_of_ptd(ptd, file, name);
    }
    TRY(const std::span<const std::byte> program, program_part(file, std::string(name)));
    if (!is_pte(program))
      return failure("size", name, "this is neither a .pte nor a .ptd file",
                     "give what `depute lower` wrote of the model");
    TRY(const PteContents pte, read_pte(program, std::string(name)));
    TRY(ByteLedger ledger, ledger_of_pte(pte, program, name, registry));
    ledger.load_memory = program_memory(pte);
    if (!is_bundle(file)) return ledger;
    TRY(const Bundle bundle, read_bundle(file, std::string(name)));
    return ledger_of_bundle(std::move(ledger), bundle, file);
  });
}

std::string ledger_text(const ByteLedger& ledger, std::size_t top) {
  doc::Document document;
  document.print("{}: {} bytes", ledger.file, ledger.bytes);
  document.add(size_table(ledger, top));
  add_duplicates(ledger, top, document);
  add_load_memory(ledger.load_memory, document);
  add_arenas(ledger.load_memory, document);
  return render_text(document);
}

}  // namespace depute
