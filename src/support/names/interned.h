// Tables of values that are stored once for the process: names, and the expressions of src/ir/sym. A table counts
// the scopes (name_scope.h) that use a value, and frees it when the last of them ends.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "depute/program/name.h"
#include "depute/program/name_scope.h"

namespace depute {
namespace internal {

inline constexpr std::size_t shard_count = 16;

// The entries of one table that a scope uses, by shard; the mutex of the shard guards each list. Scopes that take
// turns with an entry have it several times.
using UsedEntries = std::array<std::vector<const void*>, shard_count>;

class AnyTable {
 public:
  virtual ~AnyTable() = default;
  virtual void keep(NameScope::Data& scope,
                    const UsedEntries& from) = 0;     // uses entries of another scope, too
  virtual void release(const UsedEntries& used) = 0;  // of a scope that ends
};

// Expressions have names, so they go first.
enum class TableKind : std::uint8_t { Expressions, Names };

}  // namespace internal

struct NameScope::Data : std::enable_shared_from_this<NameScope::Data> {
  Data() = default;
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  ~Data();

  internal::UsedEntries& of(internal::TableKind kind) { return used[static_cast<std::size_t>(kind)]; }

  static inline std::atomic<std::uint64_t> last_id = 0;
  static inline std::array<std::atomic<internal::AnyTable*>, 2> tables =
      {};  // null until the first value is made
  const std::uint64_t id = ++last_id;
  std::array<internal::UsedEntries, 2> used = {};
};

namespace internal {

using Scope = NameScope::Data;  // null: for good

// The scope in use on this thread; null if what is made stays for good.
Scope* scope_in_use();
// Gives the scope a name that another one may lose.
void keep_name(Name name, Scope* scope);

// A value of a table. The mutex of its shard guards what is mutable.
template <typename T>
struct Entry : T {
  explicit Entry(T value) : T(std::move(value)) {}

  static constexpr std::uint32_t for_good = std::numeric_limits<std::uint32_t>::max();
  mutable std::uint64_t last_scope = 0;  // id of the scope that was the last to take it
  mutable std::uint32_t users = 0;       // times that scopes have it, or for_good
};

// Rules has hash and equality of the values, the shard of each, and keep_parts(value, scope), which gives a scope
// what the value consists of.
template <typename T, typename Rules, TableKind kind>
class Table final : public AnyTable {
 public:
  Table() { NameScope::Data::tables[static_cast<std::size_t>(kind)] = this; }

  // Returns the entry of the value, for the scope in use.
  template <typename Key>
  const Entry<T>* intern(Key&& key, Scope* scope) {
    const auto [entry, is_new] = find(std::forward<Key>(key), scope);
    if (is_new) Rules::keep_parts(*entry, scope);
    return entry;
  }

  // Gives the scope an entry that lives.
  void keep(const Entry<T>& entry, Scope* scope) {
    if (take_locked(entry, scope)) Rules::keep_parts(entry, scope);
  }

  void keep(Scope& scope, const UsedEntries& from) override {
    std::vector<const Entry<T>*> added;
    for (std::size_t i = 0; i < shard_count; ++i) {
      const std::lock_guard lock(shards_[i].mutex);
      for (const void* used : from[i]) {
        const auto* entry = static_cast<const Entry<T>*>(used);
        if (take(*entry, i, &scope)) added.push_back(entry);
      }
    }
    for (const Entry<T>* entry : added) Rules::keep_parts(*entry, &scope);
  }

  void release(const UsedEntries& used) override {
    for (std::size_t i = 0; i < shard_count; ++i) {
      const std::lock_guard lock(shards_[i].mutex);
      for (const void* each : used[i]) {
        const auto* entry = static_cast<const Entry<T>*>(each);
        if (entry->users == Entry<T>::for_good || --entry->users > 0) continue;
        shards_[i].entries.erase(shards_[i].entries.find(*entry));
      }
    }
  }

  std::size_t size() {
    std::size_t total = 0;
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      total += shard.entries.size();
    }
    return total;
  }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_set<Entry<T>, Rules, Rules> entries;
  };

  // Also returns true if the scope did not have the entry.
  template <typename Key>
  std::pair<const Entry<T>*, bool> find(Key&& key, Scope* scope) {
    const std::size_t index = Rules::shard(key);
    Shard& shard = shards_[index];
    const std::lock_guard lock(shard.mutex);
    auto found = shard.entries.find(key);
    if (found == shard.entries.end()) found = shard.entries.emplace(T(std::forward<Key>(key))).first;
    return {&*found, take(*found, index, scope)};
  }

  bool take_locked(const Entry<T>& entry, Scope* scope) {
    const std::size_t index = Rules::shard(entry);
    const std::lock_guard lock(shards_[index].mutex);
    return take(entry, index, scope);
  }

  static bool take(const Entry<T>& entry, std::size_t shard, Scope* scope) {
    if (entry.users == Entry<T>::for_good || (scope != nullptr && entry.last_scope == scope->id))
      return false;
    if (scope != nullptr) {
      append(scope->of(kind)[shard], entry);
      entry.last_scope = scope->id;
    }
    entry.users = scope == nullptr ? Entry<T>::for_good : entry.users + 1;
    return true;
  }

  // Before a long list grows, it loses what it has several times.
  static void append(std::vector<const void*>& entries, const Entry<T>& entry) {
    if (entries.size() == entries.capacity() && entries.size() >= 1024) {
      std::ranges::sort(entries);
      const auto is_repeated = [](const void* one, const void* next) {
        if (one != next) return false;
        const auto* repeated = static_cast<const Entry<T>*>(next);
        if (repeated->users != Entry<T>::for_good) --repeated->users;
        return true;
      };
      entries.erase(std::unique(entries.begin(), entries.end(), is_repeated), entries.end());
      entries.reserve(std::max(entries.capacity(), 2 * entries.size()));
    }
    entries.push_back(&entry);
  }

  std::array<Shard, shard_count> shards_;
};

}  // namespace internal

// Entries of the table of names.
std::size_t count_names();

}  // namespace depute
