#include "depute/backend/backend.h"

#include <fmt/format.h>

#include <algorithm>

namespace depute {
namespace {

constexpr std::string_view code = "delegate_mapping";

}  // namespace

std::string debug_id_text(const DelegateDebugId& id) {
  if (const auto* number = std::get_if<std::int64_t>(&id)) return fmt::format("{}", *number);
  return fmt::format("'{}'", std::get<std::string>(id));
}

Result<DelegateDebugId> DelegateMappingBuilder::insert(std::span<const Node* const> nodes,
                                                       std::optional<DelegateDebugId> id) {
  std::vector<std::uint32_t> handles;
  handles.reserve(nodes.size());
  for (const Node* node : nodes) {
    if (node == nullptr) return failure(code, id ? debug_id_text(*id) : "", "a node is null");
    for_each_origin(*node, [&](const NodeOrigin& origin) { handles.push_back(origin.debug_handle); });
  }
  return insert_handles(handles, std::move(id));
}

Result<DelegateDebugId> DelegateMappingBuilder::insert(std::initializer_list<const Node*> nodes,
                                                       std::optional<DelegateDebugId> id) {
  return insert(std::span(nodes.begin(), nodes.size()), std::move(id));
}

Result<DelegateDebugId> DelegateMappingBuilder::insert_handles(std::span<const std::uint32_t> handles,
                                                               std::optional<DelegateDebugId> id) {
  if (identifiers_ == Identifiers::Generated && id.has_value()) {
    return failure(code, debug_id_text(*id), "this builder generates identifiers; do not pass one");
  }
  if (identifiers_ == Identifiers::Given && !id.has_value()) {
    return failure(code, "", "this builder does not generate identifiers; pass one");
  }
  DelegateDebugId key = id.has_value() ? *std::move(id) : DelegateDebugId(next_);
  if (ids_.contains(key)) return failure(code, debug_id_text(key), "this identifier has an entry already");
  std::vector<std::uint32_t> kept;
  std::ranges::copy_if(handles, std::back_inserter(kept), [](std::uint32_t handle) { return handle != 0; });
  if (kept.empty())
    return failure(code, debug_id_text(key), "its nodes have no debug handle; give no entry for them");
  std::ranges::sort(kept);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  if (identifiers_ == Identifiers::Generated) ++next_;
  ids_.insert(key);
  mapping_.emplace_back(key, std::move(kept));
  return key;
}

}  // namespace depute
