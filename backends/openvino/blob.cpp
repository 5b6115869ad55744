// Reads the head of a blob. Every length is checked against the available bytes.
#include "blob.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace depute::openvino {
namespace {

constexpr std::string_view magic = "RR_UPCVO";

// Returns the value of "key=value" in a list separated by semicolons.
std::optional<std::string> field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view pair = text.substr(0, end);
    if (pair.substr(0, key.size()) == key && pair.substr(key.size(), 1) == "=")
      return std::string(pair.substr(key.size() + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

}  // namespace

std::string str(const BlobTarget& target) {
  return "OpenVINO " + target.version + ", " + target.isa;
}

std::optional<BlobTarget> blob_target(std::span<const std::byte> blob) {
  const std::string_view text(reinterpret_cast<const char*>(blob.data()), blob.size());
  constexpr std::size_t length_at = magic.size() + sizeof(std::uint32_t);
  constexpr std::size_t text_at = length_at + sizeof(std::uint64_t);
  if (text.substr(0, magic.size()) != magic || text.size() < text_at) return std::nullopt;
  std::uint64_t length = 0;
  std::memcpy(&length, text.data() + length_at, sizeof length);
  if (length > text.size() - text_at) return std::nullopt;
  const std::string_view meta = text.substr(text_at, length);
  auto version = field(meta, "ov");
  auto isa = field(meta, "isa");
  if (!version || !isa) return std::nullopt;
  return BlobTarget{std::move(*version), std::move(*isa)};
}

}  // namespace depute::openvino
