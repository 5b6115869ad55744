// Any bytes as a manifest of kernels: nothing may crash, and a registry takes nothing that the parser refuses.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "depute/backend/registry.h"
#include "lower/kernel_manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ops = depute::parse_kernel_manifest(text, "fuzz.txt");
  if (!ops && !text.contains("::")) return 0;
  depute::Registry registry;
  if (registry.add_kernels(text, "fuzz.txt") && !ops) std::abort();
  return 0;
}
