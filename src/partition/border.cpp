#include "partition/border.h"

#include <algorithm>

namespace depute {

std::uint64_t value_bytes(const Value& value) {
  if (!value.type().is_tensor()) return sizeof(std::int64_t);
  return value.tensor().static_bytes().value_or(1);
}

BorderMeter::BorderMeter(const Method& method, std::span<const InputData> data, const Graph& graph,
                         const std::vector<const Node*>& nodes, bool constants_move)
    : method_(method), data_(data), graph_(graph), nodes_(nodes), constants_move_(constants_move) {}

Border BorderMeter::measure(std::span<const std::uint32_t> members) {
  stamp_.resize(graph_.node_ids(), 0);
  ++current_;
  crossing_.clear();
  for (std::uint32_t member : members) stamp_[nodes_[member]->id()] = current_;
  for (std::uint32_t member : members) {
    add_operands(*nodes_[member]);
    add_results(*nodes_[member]);
  }
  // The order by address does not matter: the values are only counted.
  std::ranges::sort(crossing_);
  crossing_.erase(std::unique(crossing_.begin(), crossing_.end()), crossing_.end());
  Border border{.values = crossing_.size(), .bytes = 0};
  for (const Value* value : crossing_) border.bytes += value_bytes(*value);
  return border;
}

bool BorderMeter::moves_in(const Value& value) const {
  return constants_move_ && input_spec(method_, value) != nullptr &&
         data_[value.index()] == InputData::Constant;
}

void BorderMeter::add_operands(const Node& node) {
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Value& value = *node.operand(i);
    if (value.producer() == nullptr ? moves_in(value) : is_inside(*value.producer())) continue;
    crossing_.push_back(&value);
  }
}

void BorderMeter::add_results(const Node& node) {
  for (const Value* result : node.results()) {
    const bool leaves = std::ranges::any_of(
        result->uses(), [&](const Use& use) { return use.user()->is_return() || !is_inside(*use.user()); });
    if (leaves) crossing_.push_back(result);
  }
}

}  // namespace depute
