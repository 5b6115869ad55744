#include "support/symbol.h"

#include <array>
#include <mutex>
#include <unordered_set>

namespace depute {
namespace {

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// One shard of the table; texts are found by hash, so two threads rarely meet at one lock.
struct Shard {
  std::mutex mutex;
  std::unordered_set<std::string, Hash, std::equal_to<>> texts;
};

std::array<Shard, 16>& shards() {
  static auto* table = new std::array<Shard, 16>;  // never destroyed: symbols outlive every static
  return *table;
}

}  // namespace

Symbol::Symbol(std::string_view text) {
  if (text.empty()) return;
  auto& shard = shards()[Hash()(text) % 16];
  std::lock_guard lock(shard.mutex);
  auto found = shard.texts.find(text);
  if (found == shard.texts.end()) found = shard.texts.emplace(text).first;
  text_ = &*found;
}

}  // namespace depute
