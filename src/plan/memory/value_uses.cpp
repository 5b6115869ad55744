#include "plan/memory/value_uses.h"

#include <algorithm>

#include "ops/own_ops.h"

namespace depute {
namespace {

class UseFinder {
 public:
  UseFinder(const DelegateIndex& delegates, const Method& method, const NodeOrder& order,
            const ValueNumbers& numbers, const std::vector<std::uint64_t>& bytes)
      : delegates_(delegates),
        method_(method),
        graph_(*method.graph),
        order_(order),
        numbers_(numbers),
        bytes_(bytes) {
    uses_.views.resize(graph_.node_ids());
    uses_.is_output.resize(numbers.count());
    uses_.must_align.resize(numbers.count());
    uses_.last_use.resize(numbers.count());
    uses_.whole_end.resize(numbers.count());
    uses_.cut_bytes.resize(numbers.count());
  }

  ValueUses run() {
    std::uint32_t end = order_[*graph_.return_node()] + 1;
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Argument& output = graph_.outputs()[i];
      if (!output.is_value()) continue;
      bool is_users = method_.outputs[i].kind == OutputSpec::Kind::UserOutput;
      if (is_users) uses_.is_output[numbers_[*output.as_value()]] = true;
      touch(*output.as_value(), end);
    }
    for (const Node* node = graph_.last(); node != nullptr; node = node->previous()) visit(*node);
    return std::move(uses_);
  }

 private:
  void touch(const Value& value, std::uint32_t time) {
    std::uint32_t number = numbers_[value];
    uses_.last_use[number] = std::max(uses_.last_use[number], time);
    uses_.whole_end[number] = std::max(uses_.whole_end[number], time);
  }

  void visit(const Node& node) {
    std::uint32_t time = order_[node] + 1;
    for (const Value* result : node.results()) touch(*result, time);
    for (std::size_t i = 0; i < node.operand_count(); ++i) touch(*node.operand(i), time);
    uses_.views[node.id()] = find_view(node);
    if (const auto& view = uses_.views[node.id()]) visit_view(node, *view);
    if (!is_delegate_call(node)) return;
    if (const Delegate* called = delegates_.of(node))
      uses_.arena_padding = std::max(uses_.arena_padding, called->arena_padding);
    for (std::size_t i = 0; i < node.operand_count(); ++i)
      uses_.must_align[numbers_[*node.operand(i)]] = true;
  }

  // Copies the requirements of a view to its base.
  void visit_view(const Node& node, const View& view) {
    std::uint32_t base = numbers_[*view.base];
    for (const Value* value : node.results()) {
      std::uint32_t result = numbers_[*value];
      if (uses_.must_align[result]) uses_.must_align[base] = true;
      uses_.last_use[base] = std::max(uses_.last_use[base], uses_.last_use[result]);
      if (view.is_whole) uses_.whole_end[base] = std::max(uses_.whole_end[base], uses_.whole_end[result]);
      uses_.cut_bytes[base] += view.is_whole ? uses_.cut_bytes[result] : bytes_[result];
    }
  }

  const DelegateIndex& delegates_;
  const Method& method_;
  const Graph& graph_;
  const NodeOrder& order_;
  const ValueNumbers& numbers_;
  const std::vector<std::uint64_t>& bytes_;
  ValueUses uses_;
};

}  // namespace

ValueUses find_uses(const DelegateIndex& delegates, const Method& method, const NodeOrder& order,
                    const ValueNumbers& numbers, const std::vector<std::uint64_t>& bytes) {
  return UseFinder(delegates, method, order, numbers, bytes).run();
}

}  // namespace depute
