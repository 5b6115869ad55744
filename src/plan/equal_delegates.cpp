#include "plan/equal_delegates.h"

#include <algorithm>

namespace depute::internal {
namespace {

// Hashes only the keys of named data: equal keys mean equal data within a program.
Hash128 hash_of(const Delegate& delegate) {
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

bool is_equal(const Delegate& a, const Delegate& b) {
  return a.backend_id == b.backend_id && a.inline_bytes == b.inline_bytes &&
         a.compile_specs == b.compile_specs &&
         std::ranges::equal(a.named_data, b.named_data, {}, &NamedData::key, &NamedData::key) &&
         have_same_bytes(*a.processed_bytes, *b.processed_bytes);
}

}  // namespace

std::optional<std::uint32_t> EqualDelegates::find_or_add_by_hash(std::uint32_t number) {
  const Delegate& delegate = *program_.delegates[number];
  return by_hash_.find_or_add(hash_of(delegate), number, [&](std::uint32_t earlier) {
    return is_equal(*program_.delegates[earlier], delegate);
  });
}

std::optional<std::uint32_t> EqualDelegates::find_or_add(std::uint32_t number) {
  const Delegate& delegate = *program_.delegates[number];
  const bool has_bytes = delegate.processed_bytes != nullptr && !delegate.processed_bytes->is_elided();
  if (!has_bytes || stateful_.contains(delegate.name)) return std::nullopt;
  const auto [first, is_new] = first_of_size_.try_emplace(delegate.processed_bytes->size(), number);
  if (is_new) return std::nullopt;
  find_or_add_by_hash(first->second);
  return find_or_add_by_hash(number);
}

}  // namespace depute::internal
