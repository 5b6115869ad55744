// Looks a program's delegates up by name. Whoever visits many methods makes one index for all of them:
// Program::find_delegate() is linear, and so is a table of one's own for each method.
//
//   const DelegateIndex delegates(program);
//   for (const Node& call : calls) delegates.of(call)->backend_id;
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "depute/program/program.h"
#include "ir/delegate_state.h"

namespace depute {

class DelegateIndex {
 public:
  explicit DelegateIndex(const Program& program) : program_(program) {
    for (std::uint32_t i = 0; i < program.delegates.size(); ++i)
      numbers_.emplace(program.delegates[i]->name, i);
  }

  // The position in Program::delegates of the delegate that the node calls; nullopt if it calls none.
  std::optional<std::uint32_t> number_of(const Node& node) const {
    const auto found = numbers_.find(called_delegate(node));
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  // Null if the node calls none.
  const Delegate* of(const Node& node) const {
    const auto number = number_of(node);
    return number ? program_.delegates[*number].get() : nullptr;
  }

 private:
  const Program& program_;
  std::unordered_map<Name, std::uint32_t> numbers_;
};

}  // namespace depute
