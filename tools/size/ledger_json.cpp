// Writes a byte ledger as JSON, described in docs/cli.md.
#include <map>

#include "depute/tools/byte_ledger.h"
#include "support/fields.h"
#include "tools/check/method_memory.h"

namespace depute {

static void fields(FieldWriter& visit, const LedgerEntry& entry) {
  visit("offset", entry.offset, "bytes", entry.bytes, "kind", name(entry.kind), "owner", entry.owner, "name",
        entry.name);
}

static void fields(FieldWriter& visit, const Duplicate& duplicate) {
  visit("saves", duplicate.saves, "how", duplicate.how, "copies", duplicate.copies);
}

static void fields(FieldWriter& visit, const ByteLedger& ledger) {
  std::map<LedgerKind, std::uint64_t> totals;
  for (const LedgerEntry& entry : ledger.entries) totals[entry.kind] += entry.bytes;
  JsonValue kinds = JsonValue::object();
  for (const auto& [kind, total] : totals) kinds[std::string(name(kind))] = total;
  visit("file", ledger.file, "format", ledger.format, "bytes", ledger.bytes, "savable", ledger.savable(),
        "kinds", std::move(kinds), "entries", ledger.entries, "duplicates", ledger.duplicates, "load_memory",
        ledger.load_memory);
}

std::string ledger_json(const ByteLedger& ledger) {
  return json_document(ledger);
}

}  // namespace depute
