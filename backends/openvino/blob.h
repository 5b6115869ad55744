// The blob of OpenVINO's CPU plugin. Only the same OpenVINO version on the same kind of CPU imports it.
//
//   RR_UPCVO  u32  u64 length  "meta=1.0;ov=2026.4.1;isa=Intel AVX-512 with Intel DL Boost"  ...
//
// A runtime that differs only reports that the method cannot be loaded. Reports, the .pte's compile specs and
// `depute show` therefore name the version and the kind of CPU.
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

// Returns nullopt if the bytes are not a blob of the CPU plugin. The bytes may come from any file.
std::optional<BlobTarget> blob_target(std::span<const std::byte> blob);

}  // namespace depute::openvino
