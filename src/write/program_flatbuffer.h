// Builds the flatbuffer of a .pte file before its segments are written. Offsets and sizes of segments are
// filled in later.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <flatbuffers/flatbuffers.h>

#include "depute/program/result.h"
#include "plan/plan.h"

namespace depute {

// Assigns the bytes of a program to segments or to the flatbuffer.
struct SegmentLayout {
  std::uint32_t segment_count = 1;  // 0: constants
  std::uint32_t state_segment = 0;  // for initial values; 0: there are none
  // Bytes of delegates that are stored in the flatbuffer: only the empty ones, or all. Null: empty.
  std::vector<std::shared_ptr<const Storage>> inline_blobs;
  std::uint64_t inline_alignment = 16;  // in bytes; the flatbuffer ends at a multiple of it
  struct DelegateData {
    bool is_inline = false;
    std::uint32_t index = 0;  // index of the segment or the inline blob
  };
  std::vector<DelegateData> delegates;  // by index in Program::delegates
  struct NamedSegment {
    std::string key;
    std::uint32_t segment = 0;
  };
  std::vector<NamedSegment> named_data;
};

// Maximum size in bytes that the format can address.
inline constexpr std::uint64_t max_flatbuffer_bytes = (std::uint64_t{1} << 31) - 1;
// Maximum number of tables that the runtime's verifier accepts; larger programs must be loaded without
// verification.
inline constexpr std::uint64_t max_verified_tables = 1'000'000;

// Fails if the plan is too large for a flatbuffer.
Result<flatbuffers::DetachedBuffer> build_program_flatbuffer(const Plan& plan, const SegmentLayout& layout);

// Returns the number of tables that the verifier counts.
std::uint64_t count_tables(const Plan& plan, const SegmentLayout& layout);

}  // namespace depute
