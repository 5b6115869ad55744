#include "depute/program/name.h"

#include <array>
#include <memory_resource>
#include <mutex>
#include <unordered_set>

namespace depute {
namespace {

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// One shard of the table, which reduces contention between threads.
struct Shard {
  std::mutex mutex;
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::unordered_set<std::string, Hash, std::equal_to<>> texts{&memory};
};

constexpr std::size_t shard_count = 16;

// Selects the shard by the last character, because consecutive generated names differ there.
Shard& shard_of(std::string_view text) {
  static auto* table = new std::array<Shard, shard_count>;  // never destroyed: symbols outlive every static
  return (*table)[(text.size() + static_cast<unsigned char>(text.back())) % shard_count];
}

}  // namespace

Name::Name(std::string_view text) {
  if (text.empty()) return;
  Shard& shard = shard_of(text);
  std::lock_guard lock(shard.mutex);
  auto found = shard.texts.find(text);
  if (found == shard.texts.end()) found = shard.texts.emplace(text).first;
  text_ = &*found;
}

}  // namespace depute
