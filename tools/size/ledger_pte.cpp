// The ledger of a .pte file: header and flatbuffer first, then each segment by its users.
//
//   | header | flatbuffer: tables of the program and of methods | constants | payloads | named data |
//
// Walks the flatbuffer by its schema: each table, vector and string belongs to the part of the program that
// refers to it. Segments may be nested if bytes are shared; a nested segment is reported with the one around
// it.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "depute/program/type.h"
#include "plan/plan_text.h"
#include "program_generated.h"
#include "read/flatbuffer_file.h"
#include "read/flatbuffer_walk.h"
#include "support/try.h"
#include "tools/size/ledger_duplicates.h"
#include "tools/size/ledger_files.h"
#include "tools/size/ledger_spans.h"

namespace depute {
namespace {

constexpr std::size_t longest_name = 200;
constexpr std::size_t max_owners = 8;

// Shortens names from the file, since each name is repeated for many entries.
std::string shortened(const std::string& name) {
  return name.size() <= longest_name ? name : name.substr(0, longest_name) + "...";
}

// A list of owners as text.
class Owners {
 public:
  void add(const std::string& owner) {
    if (std::ranges::find(names_, owner) != names_.end()) return;
    if (names_.size() < max_owners) {
      names_.push_back(owner);
    } else {
      has_more_ = true;
    }
  }
  bool empty() const { return names_.empty(); }
  std::string str() const {
    std::string text = fmt::format("{}", fmt::join(names_, ", "));
    return has_more_ ? text + ", ..." : text;
  }

 private:
  std::vector<std::string> names_;
  bool has_more_ = false;
};

// Finds the owners of the flatbuffer's tables, vectors and strings.
class PteTables : public FlatbufferVisitor {
 public:
  PteTables(const PteContents& file, LedgerSpans& spans) : file_(file), spans_(spans) {}

  std::vector<LedgerSpan> run(std::span<const std::byte> flatbuffer) {
    walk_flatbuffer(flatbuffer, et12::ProgramTypeTable(), *this, spans_.label(LedgerKind::Program));
    return std::move(found_);
  }

 private:
  Label enter(Label inside, const flatbuffers::TypeTable* table, std::string_view field,
              std::size_t element) override {
    if (table == et12::ProgramTypeTable()) return of_program(inside, field, element);
    if (table == et12::ExecutionPlanTypeTable()) return of_method(inside, field);
    if (table == et12::BackendDelegateInlineDataTypeTable()) return blob_;
    if (table == et12::ChainTypeTable() && field == "stacktrace")
      return same_owner(inside, LedgerKind::StackTraces);
    return inside;
  }

  Label of_program(Label inside, std::string_view field, std::size_t element) {
    if (field == "execution_plan" && element != whole_field)
      return spans_.label(LedgerKind::Method, shortened(file_.methods[element].name));
    if (field == "segments") return spans_.label(LedgerKind::SegmentTable);
    if (field == "constant_segment" || field == "mutable_data_segments")
      return spans_.label(LedgerKind::ConstantTable);
    if (field == "named_data") return spans_.label(LedgerKind::DataTable);
    if (field == "constant_buffer" && element != whole_field)  // in old files
      return spans_.label(LedgerKind::Constant, {}, fmt::format("constant_buffer[{}]", element));
    return inside;
  }

  Label of_method(Label inside, std::string_view field) {
    if (field == "values") return same_owner(inside, LedgerKind::Values);
    if (field == "chains") return same_owner(inside, LedgerKind::Instructions);
    if (field == "operators") return same_owner(inside, LedgerKind::Operators);
    if (field == "delegates") return same_owner(inside, LedgerKind::Delegates);
    return inside;
  }

  Label same_owner(Label inside, LedgerKind kind) { return spans_.label(kind, spans_.of(inside).owner); }

  void piece(Piece piece, std::uint64_t begin, std::uint64_t end, Label label) override {
    if (piece == Piece::Vtable) {
      if (vtables_.insert(begin).second) found_.push_back({begin, end, spans_.label(LedgerKind::Vtables)});
      return;
    }
    if (piece == Piece::Text) {
      const LedgerEntry& inside = spans_.of(label);
      label = spans_.label(LedgerKind::Strings, inside.owner, std::string(name(inside.kind)));
    }
    // Only the blob's length belongs to the table: its bytes are reported with the delegates.
    if (label == blob_) end = begin + sizeof(std::uint32_t);
    found_.push_back({begin, end, label == blob_ ? spans_.label(LedgerKind::Program) : label});
  }

  static constexpr Label blob_ = static_cast<Label>(-1);
  const PteContents& file_;
  LedgerSpans& spans_;
  std::unordered_set<std::uint64_t> vtables_;  // already visited
  std::vector<LedgerSpan> found_;
};

// The uses of a constant or of an initial value.
struct ConstantUses {
  Owners methods;
  std::string first;  // description of the first tensor
  std::uint64_t bytes = 0;
};

class PteLedger {
 public:
  PteLedger(const PteContents& file, std::span<const std::byte> bytes, std::string_view name,
            const Registry& registry)
      : file_(file), bytes_(bytes), name_(name), registry_(registry), spans_(bytes) {}

  Result<ByteLedger> run() {
    TRY_STATUS(check_segments());
    add_header();
    std::vector<LedgerSpan> tables = PteTables(file_, spans_).run(bytes_.first(file_.flatbuffer_bytes));
    std::ranges::copy(tables, std::back_inserter(in_flatbuffer_));
    TRY_STATUS(add_payloads());
    find_named_data();
    TRY_STATUS(find_constant_uses());
    add_constants(LedgerKind::Constant, file_.constant_segment, file_.constant_offsets);
    add_constants(LedgerKind::InitialValue, file_.mutable_segment, file_.mutable_offsets);
    add_named_data();
    add_unused_segments();
    add(spans_.settle(std::move(in_flatbuffer_), 0, file_.flatbuffer_bytes, "flatbuffer"));
    return finish();
  }

 private:
  Failure fail(std::string_view place, std::string_view message) const {
    return failure("size", fmt::format("{}: {}", name_, place), message);
  }

  void add(std::vector<LedgerSpan> settled) { std::ranges::copy(settled, std::back_inserter(found_)); }

  ByteLedger finish() {
    ByteLedger ledger{.file = std::string(name_), .format = "pte", .bytes = bytes_.size()};
    ledger.entries = spans_.entries(spans_.settle(std::move(found_), 0, bytes_.size(), {}));
    std::vector<LedgerEntry> units = std::move(payloads_);
    for (const LedgerEntry& entry : ledger.entries) {
      using enum LedgerKind;
      const bool can_be_shared = entry.kind == Constant || entry.kind == InitialValue ||
                                 entry.kind == NamedData || entry.kind == PayloadConstant;
      if (can_be_shared && entry.offset >= file_.flatbuffer_bytes) units.push_back(entry);
    }
    ledger.duplicates = find_duplicates(units, bytes_);
    return ledger;
  }

  // --- segments

  Status check_segments() {
    std::vector<PlacedSegment> placed;
    for (std::size_t i = 0; i < file_.segments.size(); ++i) {
      const std::uint64_t begin = file_.segment_base + file_.segments[i].offset;
      placed.push_back({begin, begin + file_.segments[i].size, fmt::format("segments[{}]", i)});
    }
    is_used_.resize(file_.segments.size());
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> known;
    for (std::size_t i = 0; i < placed.size(); ++i)
      same_place_.push_back(known.try_emplace({placed[i].begin, placed[i].end}, i).first->second);
    Status status = check_nested(std::move(placed), file_.flatbuffer_bytes);
    return status ? Status() : fail(status.error().where, status.error().message);
  }

  std::uint64_t begin_of(std::size_t segment) const {
    return file_.segment_base + file_.segments[segment].offset;
  }

  void add_unused_segments() {
    for (std::size_t i = 0; i < is_used_.size(); ++i) {
      if (is_used_[i]) continue;
      const std::uint64_t begin = begin_of(i);
      const std::uint32_t label = spans_.label(LedgerKind::UnusedSegment, {}, fmt::format("segment {}", i));
      found_.push_back({begin, begin + file_.segments[i].size, label});
    }
  }

  // --- header

  void add_header() {
    std::uint64_t end = header_position;
    if (internal::has_text(bytes_, header_position, "eh00"))
      end += internal::number_at<std::uint32_t>(bytes_, header_position + 4);
    in_flatbuffer_.push_back({0, end, spans_.label(LedgerKind::Header)});
  }

  // --- constants and initial values

  Status find_constant_uses() {
    constants_.resize(file_.constant_offsets.size());
    initial_values_.resize(file_.mutable_offsets.size());
    for (std::size_t m = 0; m < file_.methods.size(); ++m) {
      const ExecutionPlan& method = file_.methods[m];
      for (std::size_t v = 0; v < method.values.size(); ++v) {
        if (method.values[v].kind != EValue::Kind::Tensor) continue;
        const PlanTensor& tensor = method.tensors[method.values[v].first];
        if (tensor.constant == 0 || tensor.is_external) continue;
        TRY_STATUS(add_use(method, v, tensor, fmt::format("execution_plan[{}].values[{}]", m, v)));
      }
    }
    return {};
  }

  Status add_use(const ExecutionPlan& method, std::size_t value, const PlanTensor& tensor,
                 const std::string& place) {
    const bool is_state = tensor.memory_id != 0;
    std::vector<ConstantUses>& all = is_state ? initial_values_ : constants_;
    if (all.size() <= 1) return {};  // an old file has its constants in the flatbuffer
    if (tensor.constant >= all.size())
      return fail(place, fmt::format("{} {} of {}", is_state ? "initial value" : "constant", tensor.constant,
                                     all.size() - 1));
    const std::uint64_t offset = (is_state ? file_.mutable_offsets : file_.constant_offsets)[tensor.constant];
    const std::size_t segment = is_state ? file_.mutable_segment : file_.constant_segment;
    const std::uint64_t room = segment < is_used_.size() ? file_.segments[segment].size - offset : 0;
    const std::optional<std::uint64_t> bytes = byte_size(tensor);
    if (!bytes || *bytes > room)
      return fail(place, fmt::format("{} has {} bytes, of the {} left in its segment", tensor_text(tensor),
                                     bytes ? fmt::format("{}", *bytes) : "over 2^64", room));
    ConstantUses& uses = all[tensor.constant];
    uses.bytes = std::max(uses.bytes, *bytes);
    if (uses.first.empty()) {
      uses.first = tensor.name.empty() ? fmt::format("%{}: {}", value, tensor_text(tensor)) : tensor.name;
    }
    uses.methods.add(shortened(method.name));
    return {};
  }

  void add_constants(LedgerKind kind, std::size_t segment, std::span<const std::uint64_t> offsets) {
    if (offsets.size() <= 1 || segment >= is_used_.size()) return;
    is_used_[segment] = true;
    const std::span<const ConstantUses> all = kind == LedgerKind::Constant ? constants_ : initial_values_;
    std::set<std::uint64_t> starts(offsets.begin() + 1, offsets.end());
    starts.insert(file_.segments[segment].size);
    const std::uint64_t base = begin_of(segment);
    std::vector<LedgerSpan> spans;
    for (std::size_t i = 1; i < offsets.size(); ++i) {
      const ConstantUses& uses = all[i];
      if (!uses.methods.empty()) {
        const std::uint32_t label = label_of(kind, uses, base + offsets[i]);
        spans.push_back({base + offsets[i], base + offsets[i] + uses.bytes, label});
      } else if (auto next = starts.upper_bound(offsets[i]); next != starts.end()) {
        // The end of an unused constant is unknown: assume the next start.
        const std::uint32_t label =
            spans_.label(kind, {}, fmt::format("{} {}, which no value uses", depute::name(kind), i));
        spans.push_back({base + offsets[i], base + *next, label});
      }
    }
    add(spans_.settle(std::move(spans), base, base + file_.segments[segment].size, {}));
  }

  // --- payloads of delegates

  struct Users {
    const PlanDelegate* first = nullptr;
    Owners all;
    std::string place;  // place of the first user, for messages
  };

  Status add_payloads() {
    std::vector<Users> of_segments(file_.segments.size());
    std::vector<Users> of_blobs(file_.inline_blobs.size());
    for (const ExecutionPlan& method : file_.methods) {
      for (std::size_t i = 0; i < method.delegates.size(); ++i) {
        const PlanDelegate& delegate = method.delegates[i];
        if (!delegate.is_inline) is_used_[delegate.index] = true;
        Users& users =
            delegate.is_inline ? of_blobs[delegate.index] : of_segments[same_place_[delegate.index]];
        const std::string place = fmt::format("delegate {} of {}", i, shortened(method.name));
        users.all.add(fmt::format("{} ({})", place, shortened(delegate.backend_id)));
        if (users.first != nullptr) continue;
        users.first = &delegate;
        users.place = place;
      }
    }
    for (std::size_t i = 0; i < of_blobs.size(); ++i) {
      if (of_blobs[i].first == nullptr) add_unused_blob(i);
      TRY_STATUS(add_payload(of_blobs[i]));
    }
    for (const Users& users : of_segments) TRY_STATUS(add_payload(users));
    return {};
  }

  void add_unused_blob(std::size_t i) {
    const PteSegment& blob = file_.inline_blobs[i];
    const std::uint32_t label = spans_.label(LedgerKind::UnusedSegment, {}, fmt::format("blob {}", i));
    in_flatbuffer_.push_back({blob.offset, blob.offset + blob.size, label});
  }

  Status add_payload(const Users& users) {
    if (users.first == nullptr) return {};
    const std::span<const std::byte> payload = delegate_bytes(file_, *users.first, bytes_);
    if (payload.empty()) return {};
    payload_bytes_ += payload.size();
    if (payload_bytes_ > bytes_.size()) return fail(users.place, "its bytes overlap with those of others");
    const auto begin = static_cast<std::uint64_t>(payload.data() - bytes_.data());
    const std::string owner = users.all.str();
    payloads_.push_back(
        {.offset = begin, .bytes = payload.size(), .kind = LedgerKind::Payload, .owner = owner});
    const Backend* backend = registry_.find_backend(users.first->backend_id);
    PayloadLayout layout;
    if (backend != nullptr) {
      Result<PayloadLayout> told = backend->layout(payload);
      if (!told) {
        const std::string& where = told.error().where;
        told.error().where = fmt::format("{}: {}{}{}", name_, users.place, where.empty() ? "" : ": ", where);
        return Failure(told.error());
      }
      layout = std::move(*told);
    }
    for (const std::string& key : layout.data_keys) askers_[key].add(owner);
    std::vector<LedgerSpan> parts;
    for (const PayloadPart& part : layout.parts) {
      if (part.offset > payload.size() || part.bytes > payload.size() - part.offset)
        return fail(users.place, fmt::format("its backend tells of {} bytes at {} in a payload of {}",
                                             part.bytes, part.offset, payload.size()));
      parts.push_back({begin + part.offset, begin + part.offset + part.bytes, label_of(part, owner)});
    }
    if (parts.empty())
      parts.push_back({begin, begin + payload.size(), spans_.label(LedgerKind::Payload, owner)});
    parts = spans_.settle(std::move(parts), begin, begin + payload.size(), owner);
    if (users.first->is_inline) {
      std::ranges::copy(parts, std::back_inserter(in_flatbuffer_));
    } else {
      add(std::move(parts));
    }
    return {};
  }

  std::uint32_t label_of(const PayloadPart& part, const std::string& owner) {
    switch (part.kind) {
      case PayloadPart::Kind::Header:
        return spans_.label(LedgerKind::PayloadHeader, owner, part.name);
      case PayloadPart::Kind::Tables:
        return spans_.label(LedgerKind::PayloadTables, owner, part.name);
      case PayloadPart::Kind::Constant:
        return spans_.label(LedgerKind::PayloadConstant, owner, part.name);
      case PayloadPart::Kind::Padding:
        return spans_.label(LedgerKind::Padding, owner);
    }
    std::unreachable();
  }

  // --- named data

  struct KeyedData {
    std::string keys;
    Owners owners;  // delegates that use one of the keys
    std::uint64_t size = 0;
  };

  void find_named_data() {
    for (const auto& [key, segment] : file_.named_data) {
      is_used_[segment] = true;
      KeyedData& data = named_data_[begin_of(segment)];
      data.keys += (data.keys.empty() ? "" : ", ") + key;
      data.size = std::max(data.size, file_.segments[segment].size);
      if (auto askers = askers_.find(key); askers != askers_.end()) data.owners.add(askers->second.str());
    }
  }

  // A constant that is named data as well is reported once for both.
  std::uint32_t label_of(LedgerKind kind, const ConstantUses& uses, std::uint64_t begin) {
    Owners owners = uses.methods;
    std::string words = uses.first;
    if (auto data = named_data_.find(begin); data != named_data_.end() && data->second.size <= uses.bytes) {
      if (!data->second.owners.empty()) owners.add(data->second.owners.str());
      words += ", " + data->second.keys;
    }
    return spans_.label(kind, owners.str(), words);
  }

  void add_named_data() {
    for (const auto& [begin, data] : named_data_) {
      found_.push_back(
          {begin, begin + data.size, spans_.label(LedgerKind::NamedData, data.owners.str(), data.keys)});
    }
  }

  const PteContents& file_;
  std::span<const std::byte> bytes_;
  std::string_view name_;
  const Registry& registry_;
  LedgerSpans spans_;
  std::vector<LedgerSpan> in_flatbuffer_;
  std::vector<LedgerSpan> found_;
  std::vector<bool> is_used_;            // by segment
  std::vector<std::size_t> same_place_;  // by segment: the first segment at the same position
  std::vector<ConstantUses> constants_;
  std::vector<ConstantUses> initial_values_;
  std::vector<LedgerEntry> payloads_;              // payloads as a whole
  std::uint64_t payload_bytes_ = 0;                // total size of payloads_
  std::map<std::uint64_t, KeyedData> named_data_;  // by position
  std::map<std::string, Owners> askers_;           // by key: the delegates that use it
};

}  // namespace

Result<ByteLedger> ledger_of_pte(const PteContents& file, std::span<const std::byte> bytes,
                                 std::string_view name, const Registry& registry) {
  return PteLedger(file, bytes, name, registry).run();
}

}  // namespace depute
