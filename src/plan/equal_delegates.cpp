#include "plan/equal_delegates.h"

#include "depute/program/data.h"
#include "support/hasher.h"

namespace depute::internal {

// Hashes only the keys of named data: equal keys mean equal data within a program.
Hash128 EqualDelegates::hash_of(const Delegate& delegate) const {
  Hasher hasher;
  hasher.add(delegate.backend_id);
  hasher.add(std::uint64_t{delegate.inline_bytes});
  hasher.add(delegate.compile_specs.size());
  for (const CompileSpec& spec : delegate.compile_specs) {
    hasher.add(spec.key);
    hasher.add(std::span(spec.value));
  }
  hasher.add(delegate.named_data.size());
  for (const NamedData& data : delegate.named_data) hasher.add(data.key);
  const Hash128 bytes = content_hash(*delegate.processed_bytes);
  hasher.add(bytes.low);
  hasher.add(bytes.high);
  return hasher.finish();
}

std::optional<std::uint32_t> EqualDelegates::find_or_add(std::uint32_t number) {
  const Delegate& delegate = *program_.delegates[number];
  const bool has_bytes = delegate.processed_bytes != nullptr && !delegate.processed_bytes->is_elided();
  if (!has_bytes || stateful_.contains(delegate.name)) return std::nullopt;
  const auto [first, is_new] = first_of_size_.try_emplace(delegate.processed_bytes->size(), number);
  if (is_new) return std::nullopt;
  by_hash_.try_emplace(hash_of(*program_.delegates[first->second]), first->second);
  const auto [equal, is_other] = by_hash_.try_emplace(hash_of(delegate), number);
  if (is_other) return std::nullopt;
  return equal->second;
}

}  // namespace depute::internal
