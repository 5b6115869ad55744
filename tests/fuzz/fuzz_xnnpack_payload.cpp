// Any bytes as a payload of XNNPACK: described and verified. Nothing may crash, and what is described must be
// safe to follow.
#include <cstdint>
#include <span>

#include "backends/xnnpack/payload/describe_payload.h"
#include "backends/xnnpack/payload/verify_payload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)depute::xnnpack::describe_payload(bytes);
  (void)depute::xnnpack::payload_layout(bytes);
  (void)depute::xnnpack::find_payload_fault(bytes, {});
  return 0;
}
