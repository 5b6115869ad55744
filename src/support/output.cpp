#include "support/output.h"

#include <algorithm>
#include <utility>

#include "support/check.h"
#include "support/try.h"

namespace depute {

Status Output::pad_to(std::uint64_t offset) {
  static constexpr std::byte zeros[4096] = {};
  while (position() < offset) {
    auto count = std::min<std::uint64_t>(offset - position(), sizeof zeros);
    TRY_STATUS(write(std::span(zeros, count)));
  }
  return {};
}

Status OutputBytes::write(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return {};
}

Status OutputBytes::write_from(const MappedFile&, std::span<const std::byte> bytes) {
  return write(bytes);
}

Status OutputBytes::skip_to(std::uint64_t offset) {
  CHECK(offset >= bytes_.size());
  bytes_.resize(offset);
  return {};
}

Status OutputBytes::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  CHECK(offset <= bytes_.size() && bytes.size() <= bytes_.size() - offset);
  std::ranges::copy(bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  return {};
}

Status OutputBytes::commit() {
  target_ = std::move(bytes_);
  bytes_.clear();
  return {};
}

}  // namespace depute
