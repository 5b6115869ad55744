// What OpenVINO's CPU plugin exports: a blob that only the same OpenVINO on the same kind of CPU imports.
//
//   RR_UPCVO  u32  u64 length  "meta=1.0;ov=2026.4.1;isa=Intel AVX-512 with Intel DL Boost"  ...
//
// A runtime that differs tells no more than that the method cannot be loaded; so the reports, the .pte's
// compile specs and `depute show` tell both.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace depute::openvino {

struct BlobTarget {
  std::string version;  // "2026.4.1"
  std::string isa;      // "Intel AVX-512 with Intel DL Boost"
  friend bool operator==(const BlobTarget&, const BlobTarget&) = default;
};

// "OpenVINO 2026.4.1, Intel AVX-512 with Intel DL Boost"
std::string str(const BlobTarget& target);

// The bytes come from a file and may be anything; nothing: they are no blob of the CPU plugin.
std::optional<BlobTarget> blob_target(std::span<const std::byte> blob);

}  // namespace depute::openvino
