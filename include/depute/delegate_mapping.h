// DelegateMappingBuilder: which debug handles each piece of a delegate's own program stands for, so that a
// backend's profile can be read in terms of the user's model.
//
//   DelegateMappingBuilder builder(DelegateMappingBuilder::Identifiers::Generated);
//   DEPUTE_TRY(auto id, builder.insert({conv, relu}));        // 0
//   result.debug_handle_map = builder.mapping();       // {0: (1, 2)}
//
// Identifiers are generated (0, 1, ...) or given by the caller (int or string), never both in one map.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

std::string debug_id_text(const DelegateDebugId& id);  // for messages: 7, 'conv'

class DelegateMappingBuilder {
 public:
  enum class Identifiers : std::uint8_t { Generated, Given };
  explicit DelegateMappingBuilder(Identifiers identifiers) : identifiers_(identifiers) {}

  // One entry. A node that stands for several (a backend's own op) counts as these. Handles of 0 (nodes
  // without a handle) are dropped; nothing left is an error, as are a null node, an identifier given twice,
  // missing when they are Given, or given when they are Generated. A failed insert leaves no trace.
  Result<DelegateDebugId> insert(std::span<const Node* const> nodes,
                                 std::optional<DelegateDebugId> id = std::nullopt);
  Result<DelegateDebugId> insert(std::initializer_list<const Node*> nodes,
                                 std::optional<DelegateDebugId> id = std::nullopt);
  Result<DelegateDebugId> insert_handles(std::span<const std::uint32_t> handles,
                                         std::optional<DelegateDebugId> id = std::nullopt);

  // Entries in insertion order, the handles of each ascending and unique.
  const DebugHandleMap& mapping() const { return mapping_; }

 private:
  Identifiers identifiers_;
  std::int64_t next_ = 0;
  DebugHandleMap mapping_;
  std::unordered_set<DelegateDebugId> ids_;  // of mapping_
};

}  // namespace depute

#pragma GCC visibility pop
