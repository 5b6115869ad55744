#include "plan/flat/variables.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/op.h"
#include "ops/control/control_ops.h"
#include "ops/own_ops.h"
#include "plan/flat/loops.h"
#include "plan/memory/views.h"

namespace depute {
namespace {

class VariableJoiner {
 public:
  VariableJoiner(const Graph& graph, const NodeOrder& order)
      : graph_(graph), order_(order), numbers_(graph), loops_(graph, order) {}

  ValueNumbers run() {
    for (const Node& node : graph_.nodes()) {
      if (control_op(node) == ControlOp::Set && node.arg(1).is_value()) {
        join(node, *node.arg(0).as_value(), *node.arg(1).as_value());
      }
    }
    return std::move(numbers_);
  }

 private:
  // Values that share one place.
  struct Place {
    std::vector<const Value*> values;
  };

  std::uint32_t time_of(const Node& node) const { return order_[node] + 1; }

  Place& place(const Value& value) {
    Place& found = places_[numbers_[value]];
    if (found.values.empty()) found.values.push_back(&value);
    return found;
  }

  void join(const Node& set, const Value& variable, const Value& content) {
    if (numbers_[variable] == numbers_[content] || !is_made_in_place(variable, content)) return;
    Place& from = place(content);
    Place& to = place(variable);
    if (is_used_after(from, time_of(set))) return;
    if (is_accessed(to, first_write(from), time_of(set), *content.producer())) return;
    to.values.insert(to.values.end(), from.values.begin(), from.values.end());
    for (const Value* value : from.values) numbers_.join(*value, variable);
    from.values.clear();
  }

  // True if the content has one writer at a time, which can write to any place.
  bool is_made_in_place(const Value& variable, const Value& content) const {
    if (content.producer() == nullptr) return false;
    bool is_same_type = content.type() == variable.type();
    if (!variable.type().is_tensor()) is_same_type = content.type().kind == variable.type().kind;
    if (!is_same_type) return false;
    const Node& producer = *content.producer();
    if (shared_operand(producer) != nullptr) return false;
    ControlOp op = control_op(producer);
    if (op == ControlOp::Variable || op == ControlOp::Copy || is_delegate_call(producer)) return true;
    const OpDef* def = producer.def();
    return def != nullptr && !def->out_name.empty();
  }

  // Calls visit(user) for each node that reads or writes the place, including the return; stops at the first
  // that returns true.
  template <typename Visit>
  static bool any_user(const Place& place, Visit&& visit) {
    std::vector<const Value*> values = place.values;
    std::unordered_set<const Node*> views;
    while (!values.empty()) {
      const Value* value = values.back();
      values.pop_back();
      for (const Use& use : value->uses()) {
        if (visit(*use.user())) return true;
        bool is_view = !use.user()->is_return() && shared_operand(*use.user()) == value;
        if (!is_view || !views.insert(use.user()).second) continue;
        values.insert(values.end(), use.user()->results().begin(), use.user()->results().end());
      }
    }
    return false;
  }

  // Returns the time when the place begins to exist; first_write() returns the time since which it holds a
  // value.
  std::uint32_t begin(const Place& place) const {
    std::uint32_t first = time_of(*place.values.front()->producer());
    for (const Value* value : place.values) first = std::min(first, time_of(*value->producer()));
    return first;
  }
  std::uint32_t first_write(const Place& place) const {
    std::uint32_t first = begin(place);
    std::uint32_t write = 0xffffffff;
    auto consider = [&](const Node& node) {
      write = std::min(write, loops_.kept_since(first, time_of(node)));
    };
    for (const Value* value : place.values) {
      if (control_op(*value->producer()) != ControlOp::Variable) consider(*value->producer());
      for (const Use& use : value->uses()) {
        if (writes_variable(*use.user())) consider(*use.user());
      }
    }
    return write;
  }

  bool is_used_after(const Place& place, std::uint32_t time) const {
    std::uint32_t first = begin(place);
    return any_user(place, [&](const Node& user) { return loops_.kept_until(first, time_of(user)) > time; });
  }

  // True if a node reads or writes the place in [begin, end). Reads of `maker` at `begin` do not count if it
  // may overwrite its operand.
  bool is_accessed(const Place& place, std::uint32_t begin, std::uint32_t end, const Node& maker) const {
    auto is_within = [&](const Node& node) { return time_of(node) >= begin && time_of(node) < end; };
    for (const Value* value : place.values) {
      const Node& producer = *value->producer();
      if (control_op(producer) != ControlOp::Variable && is_within(producer)) return true;
    }
    return any_user(place, [&](const Node& user) {
      bool is_overwritten = &user == &maker && time_of(maker) == begin && may_write_over(maker, place);
      return is_within(user) && !is_overwritten;
    });
  }

  bool may_write_over(const Node& node, const Place& place) const {
    const OpDef* def = node.def();
    if (def == nullptr || node.results().size() != 1) return false;
    if (!node.result()->type().is_tensor()) return def->is(OpFlag::Symbolic);
    if (!def->is(OpFlag::Pointwise)) return false;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value& operand = *node.operand(i);
      bool is_in_place = numbers_[root_of(operand)] == numbers_[*place.values.front()];
      if (is_in_place && operand.type() != node.result()->type()) return false;
    }
    return true;
  }

  const Graph& graph_;
  const NodeOrder& order_;
  ValueNumbers numbers_;
  Loops loops_;
  std::unordered_map<std::uint32_t, Place> places_;  // by number
};

}  // namespace

ValueNumbers number_values(const Graph& graph, const NodeOrder& order) {
  return VariableJoiner(graph, order).run();
}

}  // namespace depute
