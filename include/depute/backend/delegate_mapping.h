// DelegateMappingBuilder: maps identifiers of a delegate's own instructions to debug handles of nodes, so
// that a delegate's profile can be attributed to the user's model.
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

#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

std::string debug_id_text(const DelegateDebugId& id);  // text for messages: 7, 'conv'

class DelegateMappingBuilder {
 public:
  enum class Identifiers : std::uint8_t { Generated, Given };
  explicit DelegateMappingBuilder(Identifiers identifiers) : identifiers_(identifiers) {}

  // Adds one entry. A backend op counts as the nodes it replaced. Handles of 0 (nodes without a handle) are
  // dropped.
  // Fails for a null node, an entry without handles, a duplicate identifier, a missing one with
  // Identifiers::Given, and one given with Identifiers::Generated. A failed insert has no effect.
  Result<DelegateDebugId> insert(std::span<const Node* const> nodes,
                                 std::optional<DelegateDebugId> id = std::nullopt);
  Result<DelegateDebugId> insert(std::initializer_list<const Node*> nodes,
                                 std::optional<DelegateDebugId> id = std::nullopt);
  Result<DelegateDebugId> insert_handles(std::span<const std::uint32_t> handles,
                                         std::optional<DelegateDebugId> id = std::nullopt);

  // Entries in insertion order; the handles of each entry are ascending and unique.
  const DebugHandleMap& mapping() const { return mapping_; }

 private:
  Identifiers identifiers_;
  std::int64_t next_ = 0;
  DebugHandleMap mapping_;
  std::unordered_set<DelegateDebugId> ids_;  // identifiers in mapping_
};

}  // namespace depute

#pragma GCC visibility pop
