// Delegates that are the same to the runtime: it loads one of them, and executes it for all.
//
//   delegate "a": bytes 0x11 of w; delegate "b": bytes 0x11 of w      b(x), a(x)  ->  two calls of a
//
// What is loaded once takes its memory once, and weights that a backend packs stay in caches from one call to
// the next. A delegate with state has it for itself alone.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "depute/hash.h"
#include "depute/program.h"
#include "ir/delegate_state.h"

namespace depute::internal {

class EqualDelegates {
 public:
  explicit EqualDelegates(const Program& program) : program_(program), stateful_(program) {}

  // Of those that were added before, one that is equal to this one (numbers in Program::delegates), which is
  // added otherwise.
  std::optional<std::uint32_t> find_or_add(std::uint32_t number);

 private:
  Hash128 hash_of(const Delegate& delegate) const;

  const Program& program_;
  const StatefulDelegates stateful_;
  std::unordered_map<std::size_t, std::uint32_t> first_of_size_;  // bytes are hashed when a second one comes
  std::unordered_map<Hash128, std::uint32_t> by_hash_;
};

}  // namespace depute::internal
