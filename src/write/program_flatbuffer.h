// The flatbuffer of a .pte file, built before its segments are written: their offsets and sizes are filled in
// afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <flatbuffers/flatbuffers.h>

#include "depute/result.h"
#include "plan/plan.h"

namespace depute {

// Where the bytes of a program will lie.
struct SegmentLayout {
  std::uint32_t segment_count = 1;  // 0: constants
  std::uint32_t state_segment = 0;  // of initial values; 0: there are none
  // Delegates' bytes that are kept in the flatbuffer: those without any, or all. Null: none.
  std::vector<std::shared_ptr<const Storage>> inline_blobs;
  std::uint64_t inline_alignment = 16;  // in the flatbuffer, which ends at a multiple of it
  struct DelegateData {
    bool is_inline = false;
    std::uint32_t index = 0;  // of the segment, or of the inline blob
  };
  std::vector<DelegateData> delegates;  // by index in Program::delegates
  struct NamedSegment {
    std::string key;
    std::uint32_t segment = 0;
  };
  std::vector<NamedSegment> named_data;
};

// Largest flatbuffer that the format can address.
inline constexpr std::uint64_t max_flatbuffer_bytes = (std::uint64_t{1} << 31) - 1;
// Tables that the runtime's verifier accepts in a program; beyond, only unverified loading works.
inline constexpr std::uint64_t max_verified_tables = 1'000'000;

// Fails when the plan is too large for a flatbuffer.
Result<flatbuffers::DetachedBuffer> build_program_flatbuffer(const Plan& plan, const SegmentLayout& layout);

// Tables that the verifier will count.
std::uint64_t count_tables(const Plan& plan, const SegmentLayout& layout);

}  // namespace depute
