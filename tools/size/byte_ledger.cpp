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
#include "plan/plan_text.h"
#include "support/guarded.h"
#include "support/try.h"
#include "tools/size/ledger_files.h"
#include "tools/size/weight_names.h"

namespace depute {
namespace {

// The group in the text to which a kind belongs.
enum class Place : std::uint8_t { File, OwnMethod, Weights, Delegates, Padding };

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

struct TextRow {
  std::string words;
  std::uint64_t bytes = 0;
};

struct TextGroup {
  std::uint64_t bytes = 0;
  std::map<std::string, std::uint64_t> rows;
};

bool is_larger(const TextRow& a, const TextRow& b) {
  return std::pair(b.bytes, std::string_view(a.words)) < std::pair(a.bytes, std::string_view(b.words));
}

constexpr std::size_t widest_words = 76;

class LedgerText {
 public:
  LedgerText(const ByteLedger& ledger, std::size_t top) : ledger_(ledger), top_(top) {}

  std::string run() {
    std::map<std::string, TextGroup> groups;
    for (const LedgerEntry& entry : ledger_.entries) {
      TextGroup& group = groups[group_of(entry)];
      group.bytes += entry.bytes;
      group.rows[words_of(entry)] += entry.bytes;
    }
    std::vector<TextRow> order;
    for (const auto& [words, group] : groups) order.push_back({words, group.bytes});
    std::ranges::sort(order, is_larger);
    for (const TextRow& group : order) {
      lines_.push_back(group);
      add_rows(groups.at(group.words).rows);
    }
    lines_.push_back({"total", ledger_.bytes});
    return header() + table() + duplicates();
  }

 private:
  std::string header() const { return fmt::format("{}: {} bytes\n", printable(ledger_.file), ledger_.bytes); }

  void add_rows(const std::map<std::string, std::uint64_t>& of_group) {
    std::vector<TextRow> rows;
    for (const auto& [words, bytes] : of_group) rows.push_back({"  " + words, bytes});
    std::ranges::sort(rows, is_larger);
    const std::size_t shown = top_ == 0 ? rows.size() : std::min(top_, rows.size());
    TextRow rest{fmt::format("  {} more", rows.size() - shown), 0};
    for (std::size_t i = shown; i < rows.size(); ++i) rest.bytes += rows[i].bytes;
    rows.resize(shown);
    std::ranges::copy(rows, std::back_inserter(lines_));
    if (rest.bytes != 0) lines_.push_back(rest);
  }

  std::string table() const {
    const std::size_t digits = fmt::formatted_size("{}", ledger_.bytes);
    std::string text;
    for (const TextRow& line : lines_) {
      const double percent =
          ledger_.bytes == 0 ? 0
                             : 100.0 * static_cast<double>(line.bytes) / static_cast<double>(ledger_.bytes);
      text += fmt::format("{:>{}} {:>5.1f}%  {}\n", line.bytes, digits, percent, printable(line.words));
    }
    return text;
  }

  std::string duplicates() const {
    if (ledger_.duplicates.empty()) return {};
    std::string text =
        fmt::format("bytes that are there several times; sharing would save {}\n", ledger_.savable());
    const std::size_t count = ledger_.duplicates.size();
    const std::size_t shown = top_ == 0 ? count : std::min(top_, count);
    for (std::size_t i = 0; i < shown; ++i) {
      const Duplicate& duplicate = ledger_.duplicates[i];
      text += fmt::format("  {} saved of {} copies of {}: {}\n", duplicate.saves, duplicate.copies.size(),
                          duplicate.copies[0].bytes, duplicate.how);
      for (const LedgerEntry& copy : duplicate.copies)
        text += fmt::format("    at {}: {}\n", copy.offset, printable(words_of(copy)));
    }
    if (shown < count) text += fmt::format("  {} more\n", count - shown);
    return text;
  }

  const ByteLedger& ledger_;
  std::size_t top_;
  std::vector<TextRow> lines_;
};

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
    if (!is_pte(file))
      return failure("size", name, "this is neither a .pte nor a .ptd file",
                     "give what `depute lower` wrote of the model");
    TRY(const PteContents pte, read_pte(file, std::string(name)));
    return ledger_of_pte(pte, file, name, registry);
  });
}

std::string ledger_text(const ByteLedger& ledger, std::size_t top) {
  return LedgerText(ledger, top).run();
}

}  // namespace depute
