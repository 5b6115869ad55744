#include "read/etdump.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "etdump_generated.h"
#include "read/flatbuffer_file.h"
#include "read/pte_method.h"
#include "support/try.h"

namespace depute {
namespace {

using internal::has_text;
using internal::number_at;

class EtDumpReader {
  static constexpr std::size_t prefix_size = sizeof(flatbuffers::uoffset_t);
  static constexpr std::size_t max_depth = 8;

 public:
  EtDumpReader(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {}

  Result<EtDump> run() {
    TRY(const ed00::ETDump* table, find_table());
    for (const auto* run : internal::elements(table->run_data())) TRY_STATUS(read_run(*run));
    return std::move(dump_);
  }

 private:
  Failure fail(std::string_view place, std::string_view message, std::string_view hint = {}) const {
    return failure("read_etdump", fmt::format("{}: {}", name_, place), message, hint);
  }

  // Finds the root table. The size may precede the flatbuffer, as flatcc writes it.
  Result<const ed00::ETDump*> find_table() {
    const std::string_view identifier = ed00::ETDumpIdentifier();
    const bool has_prefix = has_text(file_, prefix_size + 4, identifier);
    if (!has_prefix && !has_text(file_, 4, identifier))
      return fail("byte 4", "not an ETDump (no \"ED00\" here)",
                  "give the file that the runtime's ETDump generator wrote");
    std::size_t size = file_.size();
    if (has_prefix) {
      size = number_at<flatbuffers::uoffset_t>(file_, 0) + prefix_size;
      if (size > file_.size())
        return fail("byte 0",
                    fmt::format("{} bytes in a file of {}: the file is truncated", size, file_.size()));
    }
    if (size >= std::numeric_limits<std::int32_t>::max()) return fail("byte 0", "over 2 GB");
    // Numbers are aligned relative to the prefix, or to the flatbuffer after it; try both.
    const ed00::ETDump* table = sound_table(file_.first(size), has_prefix);
    if (table == nullptr && has_prefix) table = sound_table(file_.first(size).subspan(prefix_size), false);
    if (table == nullptr) return fail("flatbuffer", "is damaged");
    return table;
  }

  const ed00::ETDump* sound_table(std::span<const std::byte> bytes, bool has_prefix) {
    dump_.bytes.assign(bytes.begin(), bytes.end());
    const auto* start = reinterpret_cast<const std::uint8_t*>(dump_.bytes.data());
    const auto max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 1024);
    flatbuffers::Verifier verifier(start, bytes.size(), max_depth, max_tables);
    if (has_prefix)
      return ed00::VerifySizePrefixedETDumpBuffer(verifier) ? ed00::GetSizePrefixedETDump(start) : nullptr;
    return ed00::VerifyETDumpBuffer(verifier) ? ed00::GetETDump(start) : nullptr;
  }

  static std::string_view text(const flatbuffers::String* string) {
    return string == nullptr ? std::string_view() : std::string_view(string->c_str(), string->size());
  }

  Status read_run(const ed00::RunData& table) {
    EtRun& run = dump_.runs.emplace_back(EtRun{.name = text(table.name())});
    for (const auto* event : internal::elements(table.events())) {
      if (event->debug_event() != nullptr) TRY_STATUS(read_tensor(*event->debug_event()));
      const auto* profile = event->profile_event();
      if (profile == nullptr) continue;
      const auto refuse = [&](std::string_view message) {
        return fail(fmt::format("run_data[{}].events[{}]", dump_.runs.size() - 1, run.events.size()),
                    message);
      };
      if (profile->end_time() < profile->start_time()) return refuse("the event ends before it starts");
      const std::uint64_t ticks = profile->end_time() - profile->start_time();
      if (ticks > std::numeric_limits<std::uint64_t>::max() - all_ticks_)
        return refuse("with this one, the times of all events sum to over 64 bits: the dump is damaged");
      all_ticks_ += ticks;
      // Outside instructions the runtime also writes a number, usually 0.
      const bool is_in_instruction = profile->chain_index() >= 0;
      run.events.push_back({.name = text(profile->name()),
                            .instruction = is_in_instruction ? profile->instruction_id() : -1,
                            .delegate_id = profile->delegate_debug_id_int(),
                            .delegate_text = text(profile->delegate_debug_id_str()),
                            .start = profile->start_time(),
                            .ticks = ticks});
    }
    return {};
  }

  // Numbers are not read: only tensors are of interest.
  Status read_tensor(const ed00::DebugEvent& event) {
    EtRun& run = dump_.runs.back();
    const auto* value = event.debug_entry();
    const auto* tensor = value == nullptr ? nullptr : value->tensor();
    if (tensor == nullptr || value->val() != ed00::ValueType::Tensor) return {};
    const std::string place =
        fmt::format("run_data[{}], tensor {}", dump_.runs.size() - 1, run.tensors.size());
    const std::optional<ScalarType> dtype = scalar_type_from_executorch(tensor->scalar_type());
    if (!dtype) return fail(place, fmt::format("there is no element type {}", tensor->scalar_type()));
    EtTensor& made = run.tensors.emplace_back();
    made.instruction = event.instruction_id();
    made.delegate_id = event.delegate_debug_id_int();
    made.delegate_text = text(event.delegate_debug_id_str());
    made.dtype = *dtype;
    if (tensor->sizes() != nullptr) made.sizes.assign(tensor->sizes()->begin(), tensor->sizes()->end());
    if (tensor->offset() < 0 || std::ranges::any_of(made.sizes, [](std::int64_t size) { return size < 0; }))
      return fail(place, "its sizes or its place in the debug buffer are negative");
    made.offset = static_cast<std::uint64_t>(tensor->offset());
    made.is_result = value->output() != nullptr && value->output()->bool_val();
    return {};
  }

  std::span<const std::byte> file_;
  const std::string& name_;
  EtDump dump_;
  std::uint64_t all_ticks_ = 0;  // limits the sum, so that readers cannot overflow
};

}  // namespace

Result<EtDump> read_etdump(std::span<const std::byte> file, const std::string& name) {
  return EtDumpReader(file, name).run();
}

}  // namespace depute
