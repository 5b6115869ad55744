// Numbers the values of a graph, as an index into tables: inputs, then the results of the nodes in order.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "depute/program/graph.h"

namespace depute {

class ValueNumbers {
 public:
  explicit ValueNumbers(const Graph& graph) : first_result_(graph.node_ids()) {
    count_ = static_cast<std::uint32_t>(graph.inputs().size());
    for (const Node& node : graph.nodes()) {
      first_result_[node.id()] = count_;
      count_ += static_cast<std::uint32_t>(node.results().size());
    }
  }

  std::uint32_t operator[](const Value& value) const {
    return joined_.empty() ? own_number(value) : joined_[own_number(value)];
  }
  std::uint32_t count() const { return count_; }

  // Gives `value` the number of `other`.
  void join(const Value& value, const Value& other) {
    if (joined_.empty()) {
      joined_.resize(count_);
      std::iota(joined_.begin(), joined_.end(), 0U);
    }
    joined_[own_number(value)] = (*this)[other];
  }

 private:
  std::uint32_t own_number(const Value& value) const {
    const Node* producer = value.producer();
    return (producer == nullptr ? 0 : first_result_[producer->id()]) + value.index();
  }

  std::vector<std::uint32_t> first_result_;  // by node id
  std::vector<std::uint32_t> joined_;        // by own number; empty if no values are joined
  std::uint32_t count_ = 0;
};

}  // namespace depute
