#include "report/show_pte.h"

#include <fmt/format.h>

#include "plan/plan_text.h"

namespace depute {
namespace {

std::string delegate_line(const PteFile& file, const PlanDelegate& delegate, std::size_t number) {
  std::uint64_t bytes =
      delegate.is_inline ? file.inline_blobs[delegate.index] : file.segments[delegate.index].size;
  std::string line =
      fmt::format("  delegate {} {}: {} bytes in {} {}", number, depute::quoted(delegate.backend_id), bytes,
                  delegate.is_inline ? "the flatbuffer, blob" : "segment", delegate.index);
  for (const auto& [key, value] : delegate.compile_specs) {
    line += fmt::format(", {}: {} bytes", depute::quoted(key), value.size());
  }
  return line + "\n";
}

}  // namespace

std::string pte_text(const PteFile& file) {
  std::string text =
      fmt::format("pte {} bytes, flatbuffer {} bytes\n", file.file_bytes, file.flatbuffer_bytes);
  for (std::size_t i = 0; i < file.segments.size(); ++i) {
    text += fmt::format("segment {}: {} bytes at {}\n", i, file.segments[i].size,
                        file.segment_base + file.segments[i].offset);
  }
  if (file.constant_offsets.size() > 1) {
    text +=
        fmt::format("constants: {} in segment {}\n", file.constant_offsets.size() - 1, file.constant_segment);
  }
  if (file.mutable_offsets.size() > 1) {
    text += fmt::format("initial values: {} in segment {}\n", file.mutable_offsets.size() - 1,
                        file.mutable_segment);
  }
  for (const PteNamedData& data : file.named_data) {
    text += fmt::format("data {}: segment {}\n", depute::quoted(data.key), data.segment);
  }
  for (const ExecutionPlan& method : file.methods) {
    text += "\n" + plan_text(method);
    for (std::size_t i = 0; i < method.delegates.size(); ++i) {
      text += delegate_line(file, method.delegates[i], i);
    }
  }
  return text;
}

std::string ptd_text(const PtdFile& file) {
  std::string text =
      fmt::format("ptd {} bytes, flatbuffer {} bytes\n", file.file_bytes, file.flatbuffer_bytes);
  for (const PtdData& data : file.data) {
    text += fmt::format("data {}: {} bytes at {}", depute::quoted(data.key), data.size, data.offset);
    if (data.layout) text += ", " + tensor_text(*data.layout);
    text += "\n";
  }
  return text;
}

}  // namespace depute
