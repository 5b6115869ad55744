// Any bytes as a .npz file, and as an array in one whose checksums are right, stored and deflated: nothing
// may crash, and every array lies in its storage.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "depute/program/data.h"
#include "read/npz.h"
#include "zip_writer.h"

namespace {

void read_arrays(std::span<const std::byte> bytes) {
  depute::ReadLimits limits;
  limits.inflated_bytes = 1 << 20;
  auto arrays = depute::read_npz({.bytes = bytes}, "fuzz.npz", limits);
  if (!arrays) return;
  for (const auto& [name, data] : *arrays) {
    if (!depute::fits_storage(data)) std::abort();
    const depute::TensorData dense = data.contiguous();
    if (dense.dense_bytes().size() != *data.type.static_bytes()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_arrays(bytes);
  const std::string content(reinterpret_cast<const char*>(data), size);
  const std::string zip = depute::make_zip(
      {{.name = "x.npy", .content = content}, {.name = "y.npy", .content = content, .deflate = true}});
  read_arrays(std::as_bytes(std::span(zip)));
  return 0;
}
