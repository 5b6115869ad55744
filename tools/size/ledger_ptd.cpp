// The ledger of a .ptd file: its flatbuffer by the purpose of each table, then the data by their keys.
// Segments without a key are reported as unknown bytes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "flat_tensor_generated.h"
#include "plan/plan_text.h"
#include "read/flatbuffer_file.h"
#include "read/flatbuffer_walk.h"
#include "support/try.h"
#include "tools/size/ledger_duplicates.h"
#include "tools/size/ledger_files.h"
#include "tools/size/ledger_spans.h"

namespace depute {
namespace {

class PtdTables : public FlatbufferVisitor {
 public:
  explicit PtdTables(LedgerSpans& spans) : spans_(spans) {}

  std::vector<LedgerSpan> run(std::span<const std::byte> flatbuffer) {
    walk_flatbuffer(flatbuffer, ft01::FlatTensorTypeTable(), *this, spans_.label(LedgerKind::Program));
    return std::move(found_);
  }

 private:
  Label enter(Label inside, const flatbuffers::TypeTable* table, std::string_view field,
              std::size_t) override {
    if (table != ft01::FlatTensorTypeTable()) return inside;
    return spans_.label(field == "segments" ? LedgerKind::SegmentTable : LedgerKind::DataTable);
  }

  void piece(Piece piece, std::uint64_t begin, std::uint64_t end, Label label) override {
    if (piece == Piece::Vtable) label = spans_.label(LedgerKind::Vtables);
    if (piece == Piece::Text)
      label = spans_.label(LedgerKind::Strings, {}, std::string(name(spans_.of(label).kind)));
    found_.push_back({begin, end, label});
  }

  LedgerSpans& spans_;
  std::vector<LedgerSpan> found_;
};

struct PtdSegment {
  std::string keys;
  const PtdData* data = nullptr;
  std::size_t first = 0;  // position of the first key
};

}  // namespace

Status check_nested(std::vector<PlacedSegment> segments, std::uint64_t flatbuffer_end) {
  std::ranges::stable_sort(segments, {}, [](const PlacedSegment& segment) {
    return std::pair(segment.begin, ~segment.end);  // by begin; the longest first if several start together
  });
  std::vector<const PlacedSegment*> around;  // enclosing segments, each inside the one before it
  for (const PlacedSegment& segment : segments) {
    if (segment.begin == segment.end) continue;
    if (segment.begin < flatbuffer_end)
      return failure(
          "size", segment.place,
          fmt::format("starts at {}, inside the flatbuffer of {} bytes", segment.begin, flatbuffer_end));
    while (!around.empty() && around.back()->end <= segment.begin) around.pop_back();
    if (!around.empty() && segment.end > around.back()->end)
      return failure("size", segment.place,
                     fmt::format("{} to {} overlaps with {}, which ends at {}", segment.begin, segment.end,
                                 around.back()->place, around.back()->end));
    around.push_back(&segment);
  }
  return {};
}

Result<ByteLedger> ledger_of_ptd(const PtdFile& file, std::span<const std::byte> bytes,
                                 std::string_view name) {
  LedgerSpans spans(bytes);
  const std::uint64_t header_bytes =
      header_position + internal::number_at<std::uint32_t>(bytes, header_position + 4);
  std::vector<LedgerSpan> found = {{0, header_bytes, spans.label(LedgerKind::Header)}};
  const auto flatbuffer = bytes.first(file.flatbuffer_bytes);
  std::ranges::copy(PtdTables(spans).run(flatbuffer), std::back_inserter(found));
  found = spans.settle(std::move(found), 0, file.flatbuffer_bytes, "flatbuffer");

  std::map<std::uint32_t, PtdSegment> segments;
  for (std::size_t i = 0; i < file.data.size(); ++i) {
    const PtdData& data = file.data[i];
    auto [segment, is_new] = segments.try_emplace(data.segment, PtdSegment{data.key, &data, i});
    if (!is_new) segment->second.keys += ", " + data.key;
  }
  std::vector<PlacedSegment> placed;
  for (const auto& [number, segment] : segments) {
    const std::uint64_t end = segment.data->offset + segment.data->size;
    placed.push_back({segment.data->offset, end, fmt::format("segments[{}]", number)});
    found.push_back({segment.data->offset, end, spans.label(LedgerKind::NamedData, {}, segment.keys)});
  }
  if (Status status = check_nested(std::move(placed), file.flatbuffer_bytes); !status)
    return failure("size", fmt::format("{}: {}", name, status.error().where), status.error().message);

  ByteLedger ledger{.file = std::string(name), .format = "ptd", .bytes = bytes.size()};
  ledger.entries = spans.entries(spans.settle(std::move(found), 0, bytes.size(), {}));
  std::vector<LedgerEntry> units;
  for (const LedgerEntry& entry : ledger.entries) {
    if (entry.kind == LedgerKind::NamedData) units.push_back(entry);
  }
  ledger.duplicates = find_duplicates(units, bytes);
  return ledger;
}

}  // namespace depute
