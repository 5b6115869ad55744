#include "tools/show/show_pte.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "depute/program/result.h"
#include "plan/plan_text.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::size_t max_shown = 80;

// A compile spec's value: the text if it is short and printable, else its size.
std::string spec_text(std::span<const std::byte> value) {
  const std::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
  const auto is_plain = [](char each) { return each >= ' ' && each <= '~'; };
  if (text.empty() || text.size() > max_shown || !std::ranges::all_of(text, is_plain))
    return fmt::format("{} bytes", value.size());
  return depute::in_quotes(text);
}

class PteText {
 public:
  PteText(const PteContents& file, std::span<const std::byte> bytes, const Registry& registry)
      : file_(file), bytes_(bytes), registry_(registry) {}

  Result<std::string> run() {
    add_file();
    for (const ExecutionPlan& method : file_.methods) {
      text_ += "\n" + plan_text(method);
      for (std::size_t i = 0; i < method.delegates.size(); ++i) {
        add_delegate(method.delegates[i], i);
        TRY_STATUS(add_payload(method, i));
      }
    }
    return std::move(text_);
  }

 private:
  void add_file() {
    text_ = fmt::format("pte {} bytes, flatbuffer {} bytes, schema version {}\n", file_.file_bytes,
                        file_.flatbuffer_bytes, file_.version);
    for (std::size_t i = 0; i < file_.segments.size(); ++i) {
      text_ += fmt::format("segment {}: {} bytes at {}\n", i, file_.segments[i].size,
                           file_.segment_base + file_.segments[i].offset);
    }
    if (file_.constant_offsets.size() > 1) {
      text_ += fmt::format("constants: {} in segment {}\n", file_.constant_offsets.size() - 1,
                           file_.constant_segment);
    }
    if (file_.mutable_offsets.size() > 1) {
      text_ += fmt::format("initial values: {} in segment {}\n", file_.mutable_offsets.size() - 1,
                           file_.mutable_segment);
    }
    for (const PteNamedData& data : file_.named_data) {
      text_ += fmt::format("data {}: segment {}\n", depute::in_quotes(data.key), data.segment);
    }
  }

  void add_delegate(const PlanDelegate& delegate, std::size_t number) {
    text_ +=
        fmt::format("  delegate {} {}: {} bytes in {} {}", number, depute::in_quotes(delegate.backend_id),
                    delegate_bytes(file_, delegate, bytes_).size(),
                    delegate.is_inline ? "the flatbuffer, blob" : "segment", delegate.index);
    for (const auto& [key, value] : delegate.compile_specs) {
      text_ += fmt::format(", {}: {}", depute::in_quotes(key), spec_text(value));
    }
    text_ += "\n";
  }

  // Adds the backend's description of the delegate's payload. Equal payloads are described once.
  Status add_payload(const ExecutionPlan& method, std::size_t number) {
    const PlanDelegate& delegate = method.delegates[number];
    const Backend* backend = registry_.find_backend(delegate.backend_id);
    if (backend == nullptr) return {};
    const std::string place = fmt::format("delegate {} of {}", number, method.name);
    std::span<const std::byte> payload = delegate_bytes(file_, delegate, bytes_);
    auto [told, is_new] = told_.try_emplace({backend, payload.data(), payload.size()}, place);
    if (!is_new) {
      text_ += fmt::format("    as {}\n", told->second);
      return {};
    }
    told_bytes_ += payload.size();
    if (told_bytes_ > bytes_.size()) return failure("show", place, "its bytes overlap with those of others");
    Result<std::string> lines = backend->describe(payload);
    if (!lines) {
      lines.error().where =
          fmt::format("{}{}{}", place, lines.error().where.empty() ? "" : ": ", lines.error().where);
      return Failure(lines.error());
    }
    add_lines(*lines);
    return {};
  }

  void add_lines(std::string_view lines) {
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      text_ += fmt::format("    {}\n", printable(lines.substr(0, end)));
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
  }

  const PteContents& file_;
  std::span<const std::byte> bytes_;
  const Registry& registry_;
  std::string text_;
  // (backend, payload) -> first place
  std::map<std::tuple<const Backend*, const std::byte*, std::size_t>, std::string> told_;
  std::uint64_t told_bytes_ = 0;
};

}  // namespace

Result<std::string> pte_text(const PteContents& file, std::span<const std::byte> bytes,
                             const Registry& registry) {
  return guarded([&] { return PteText(file, bytes, registry).run(); });
}

std::string ptd_text(const PtdFile& file) {
  std::string text =
      fmt::format("ptd {} bytes, flatbuffer {} bytes\n", file.file_bytes, file.flatbuffer_bytes);
  for (const PtdData& data : file.data) {
    text += fmt::format("data {}: {} bytes at {}", depute::in_quotes(data.key), data.size, data.offset);
    if (data.layout) text += ", " + tensor_text(*data.layout);
    text += "\n";
  }
  return text;
}

}  // namespace depute
