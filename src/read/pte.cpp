#include "read/pte.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "program_generated.h"
#include "read/flatbuffer_file.h"
#include "read/pte_method.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

using internal::has_text;
using internal::number_at;

class PteReader {
  static constexpr std::size_t min_header_size = 24;  // without the size of the segment data
  static constexpr std::size_t full_header_size = 32;
  static constexpr std::size_t max_depth = 16;  // nesting of tables; the format needs 7

 public:
  PteReader(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {}

  Result<PteContents> run() {
    TRY_STATUS(read_header());
    TRY_STATUS(find_program());
    result_.version = program_->version();
    if (result_.version != 0)
      return fail("version", fmt::format("is {}; versions up to 0 are known", result_.version));
    TRY_STATUS(read_segments());
    TRY_STATUS(read_methods());
    return std::move(result_);
  }

 private:
  Failure fail(std::string_view place, std::string_view message) const {
    return failure("read_pte", fmt::format("{}: {}", name_, place), message);
  }

  Status read_header() {
    result_.file_bytes = file_.size();
    result_.flatbuffer_bytes = file_.size();
    if (file_.size() < min_file_size) return fail("byte 0", fmt::format("only {} bytes", file_.size()));
    if (!is_pte(file_)) return fail("byte 4", "not a .pte file (no \"ET12\" here)");
    if (!has_text(file_, header_position, "eh00")) return {};  // an old file without segments
    auto size = number_at<std::uint32_t>(file_, 12);
    if (size < min_header_size) return fail("byte 12", fmt::format("a header of {} bytes", size));
    result_.flatbuffer_bytes = number_at<std::uint64_t>(file_, 16);
    if (result_.flatbuffer_bytes > file_.size() || result_.flatbuffer_bytes < min_file_size) {
      return fail("byte 16", fmt::format("a program of {} bytes in a file of {}", result_.flatbuffer_bytes,
                                         file_.size()));
    }
    result_.segment_base = number_at<std::uint64_t>(file_, 24);
    if (result_.segment_base > file_.size()) {
      return fail("byte 24",
                  fmt::format("segments start at {}, after the end of the file", result_.segment_base));
    }
    if (size < full_header_size) return {};
    auto data_size = number_at<std::uint64_t>(file_, 32);
    if (data_size > file_.size() - result_.segment_base) {
      return fail("byte 32", fmt::format("{} bytes of segments, {} in the file", data_size,
                                         file_.size() - result_.segment_base));
    }
    return {};
  }

  // Verifies the structure of the flatbuffer. Shared tables count for each reference; valid files reach no
  // more tables than they have bytes for.
  Status find_program() {
    auto bytes = file_.first(result_.flatbuffer_bytes);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 16 != 0) {
      aligned_.assign(bytes.begin(), bytes.end());
      bytes = aligned_;
    }
    if (bytes.size() >= std::numeric_limits<std::int32_t>::max())
      return fail("byte 16", "the program is larger than 2 GB");
    const auto* start = reinterpret_cast<const std::uint8_t*>(bytes.data());
    auto max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 1024);
    flatbuffers::Verifier verifier(start, bytes.size(), max_depth, max_tables);
    if (!et12::VerifyProgramBuffer(verifier)) return fail("flatbuffer", "is damaged");
    program_ = et12::GetProgram(start);
    return {};
  }

  Status read_segments() {
    std::uint64_t room = result_.segment_base == 0 ? 0 : file_.size() - result_.segment_base;
    for (const auto* segment : internal::elements(program_->segments())) {
      std::string place = fmt::format("segments[{}]", result_.segments.size());
      if (segment->offset() > room || segment->size() > room - segment->offset()) {
        return fail(place, fmt::format("{} bytes at {} exceed the {} bytes after the flatbuffer",
                                       segment->size(), segment->offset(), room));
      }
      result_.segments.push_back({segment->offset(), segment->size()});
    }
    for (const auto* blob : internal::elements(program_->backend_delegate_data())) {
      result_.inline_blobs.push_back(place_of(blob->data()));
    }
    if (const auto* constants = program_->constant_segment()) {
      TRY_STATUS(
          read_offsets("constant_segment", *constants, result_.constant_segment, result_.constant_offsets));
    }
    if (const auto* state = program_->mutable_data_segments(); state != nullptr && state->size() > 0) {
      TRY_STATUS(read_offsets("mutable_data_segments[0]", *state->Get(0), result_.mutable_segment,
                              result_.mutable_offsets));
    }
    for (const auto* named : internal::elements(program_->named_data())) {
      std::string place = fmt::format("named_data[{}]", result_.named_data.size());
      if (named->key() == nullptr) return fail(place, "has no key");
      // Tables and texts can be shared, so a small file could request huge copies.
      copied_ += named->key()->size() + 1;
      if (copied_ > file_.size()) return fail(place, "the number of names exceeds the file's size");
      if (named->segment_index() >= result_.segments.size()) return fail(place, "its segment does not exist");
      result_.named_data.push_back({named->key()->str(), named->segment_index()});
    }
    return {};
  }

  PteSegment place_of(const flatbuffers::Vector<std::uint8_t>* bytes) const {
    if (bytes == nullptr) return {};
    const auto* start =
        reinterpret_cast<const std::uint8_t*>(aligned_.empty() ? file_.data() : aligned_.data());
    return {static_cast<std::uint64_t>(bytes->data() - start), bytes->size()};
  }

  Status read_offsets(std::string_view place, const et12::SubsegmentOffsets& table, std::uint32_t& segment,
                      std::vector<std::uint64_t>& offsets) {
    segment = table.segment_index();
    bool has_segment = segment < result_.segments.size();
    std::uint64_t size = has_segment ? result_.segments[segment].size : 0;
    for (std::uint64_t offset : internal::elements(table.offsets())) {
      if (offset > size) return fail(place, fmt::format("offset {} in a segment of {} bytes", offset, size));
      offsets.push_back(offset);
    }
    return {};
  }

  Status read_methods() {
    internal::MethodLimits limits{
        .segments = result_.segments.size(),
        .inline_blobs = result_.inline_blobs.size(),
        .constants = std::max(result_.constant_offsets.size(), result_.mutable_offsets.size()),
        .elements = file_.size() + 1024,
    };
    if (const auto* buffers = program_->constant_buffer()) {
      limits.constants = std::max<std::size_t>(limits.constants, buffers->size());
    }
    for (const auto* plan : internal::elements(program_->execution_plan())) {
      auto method = internal::read_pte_method(*plan, limits);
      if (!method) {
        return fail(fmt::format("execution_plan[{}]{}", result_.methods.size(), method.error().where),
                    method.error().message);
      }
      result_.methods.push_back(std::move(*method));
    }
    return {};
  }

  std::span<const std::byte> file_;
  const std::string& name_;
  std::vector<std::byte> aligned_;
  std::uint64_t copied_ = 0;  // bytes of names
  const et12::Program* program_ = nullptr;
  PteContents result_;
};

}  // namespace

Result<const ExecutionPlan*> find_method(const PteContents& file, const std::string& name) {
  std::vector<std::string> names;
  for (const ExecutionPlan& method : file.methods) {
    if (method.name == name) return &method;
    names.push_back(method.name);
  }
  if (name.empty() && file.methods.size() == 1) return &file.methods[0];
  return failure(
      "usage", "--method",
      name.empty() ? "the program has several methods" : fmt::format("there is no method {}", name),
      fmt::format("one of {}", fmt::join(names, ", ")));
}

bool is_pte(std::span<const std::byte> file) {
  return has_text(file, identifier_position, et12::ProgramIdentifier());
}

std::span<const std::byte> delegate_bytes(const PteContents& file, const PlanDelegate& delegate,
                                          std::span<const std::byte> bytes) {
  if (delegate.is_inline) {
    const PteSegment& blob = file.inline_blobs[delegate.index];
    return bytes.subspan(blob.offset, blob.size);
  }
  const PteSegment& segment = file.segments[delegate.index];
  return bytes.subspan(file.segment_base + segment.offset, segment.size);
}

Result<PteContents> read_pte(std::span<const std::byte> file, const std::string& name) {
  return guarded([&] { return PteReader(file, name).run(); });
}

}  // namespace depute
