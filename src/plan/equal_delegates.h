// Finds delegates that are equal for the runtime, which then loads one of them and executes it for all.
//
//   delegate "a": bytes 0x11 of w; delegate "b": bytes 0x11 of w      b(x), a(x)  ->  two calls of a
//
// A shared delegate takes its memory once, and weights that a backend packs stay in caches from one call to
// the next. A delegate with state is never shared.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "depute/program/program.h"
#include "ir/content.h"
#include "ir/delegate_state.h"

namespace depute::internal {

class EqualDelegates {
 public:
  // Refers to both.
  EqualDelegates(const Program& program, const StatefulDelegates& stateful)
      : program_(program), stateful_(stateful) {}

  // Returns an equal delegate that was added before (its number in Program::delegates); adds this one if
  // there is none.
  std::optional<std::uint32_t> find_or_add(std::uint32_t number);

 private:
  std::optional<std::uint32_t> find_or_add_by_hash(std::uint32_t number);

  const Program& program_;
  const StatefulDelegates& stateful_;
  // Bytes are hashed only if a second delegate has the size.
  std::unordered_map<std::size_t, std::uint32_t> first_of_size_;
  EqualItems<std::uint32_t> by_hash_;
};

}  // namespace depute::internal
