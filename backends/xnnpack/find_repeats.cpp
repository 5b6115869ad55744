#include "find_repeats.h"

#include <algorithm>

#include "ir/same_call.h"

namespace depute::xnnpack {
namespace {

// Fewer steps, or copies that a core's own cache holds all together, are not worth the calls: README.md has the
// measurement (bench/xnnpack_repeats.py).
constexpr std::size_t min_steps = 4;
constexpr std::size_t min_copied_bytes = 1 << 20;
constexpr std::size_t node_bytes = 2 << 10;  // kept by the runtime for each node, beside its weights
constexpr std::size_t min_nodes = 3;         // of a step
// Limit on passes over the graph: a graph with thousands of shared weights is no recurrent cell.
constexpr std::size_t max_passes = 32;

// Corresponding nodes of all steps, one per step.
using Column = std::vector<const Node*>;

class RepeatFinder {
 public:
  RepeatFinder(const QueryContext& context, const std::function<bool(const Node&)>& is_taken)
      : method_(*context.method), context_(context), is_taken_(is_taken), graph_(*method_.graph) {}

  std::vector<std::vector<const Node*>> run() {
    std::size_t budget = max_passes * graph_.node_count();
    for (const Value* input : graph_.inputs()) {
      const Column seeds = seeds_of(*input);
      if (seeds.size() < min_steps) continue;
      if (budget < graph_.node_count()) break;
      budget -= graph_.node_count();
      find_depths(seeds);
      add_steps(grow(seeds), input->tensor().static_bytes().value_or(0));
    }
    return std::move(steps_);
  }

 private:
  static constexpr std::uint32_t no_column = 0xFFFFFFFF;
  struct Place {
    std::uint32_t column = no_column;  // index among the growing columns
    std::uint32_t step = 0;
    bool is_settled = false;  // in a step found earlier
  };

  // The products that pack `weight`, in order, where copies may be large and many enough.
  Column seeds_of(const Value& weight) {
    Column seeds;
    const std::size_t count = weight.use_count();
    if (count < min_steps || !weight.type().is_tensor()) return seeds;
    const std::size_t bytes = weight.tensor().static_bytes().value_or(0);
    if (!are_copies_large(bytes, count, graph_.node_count() / count)) return seeds;
    for (const Use& use : weight.uses()) {
      const Node& node = *use.user();
      if (!packs(node, weight)) return {};
      seeds.push_back(&node);
    }
    number_nodes();
    std::ranges::sort(seeds, {}, [this](const Node* node) { return number_[node->id()]; });
    const auto starts_as_the_first = [&](const Node* node) {
      return !place_[node->id()].is_settled && is_equal(*seeds[0], *node, 0);
    };
    return std::ranges::all_of(seeds, starts_as_the_first) ? seeds : Column();
  }

  // True if one delegate with all steps would keep copies worth avoiding. Copies are the packed weights and the node
  // state of all steps but the first.
  bool are_copies_large(std::size_t weight_bytes, std::size_t steps, std::size_t nodes_of_step) const {
    return context_.options.repeats == Setting::Always ||
           weight_bytes + nodes_of_step * node_bytes >= min_copied_bytes / (steps - 1);
  }

  void number_nodes() {
    if (!number_.empty()) return;
    place_.resize(graph_.node_ids());
    number_.resize(graph_.node_ids());
    std::uint32_t number = 0;
    for (const Node& node : graph_.nodes()) number_[node.id()] = ++number;
  }

  bool packs(const Node& node, const Value& weight) const {
    if (node.is_return() || &node.graph() != &graph_ || !is_taken_(node)) return false;
    const OpRule* rule = find_op_rule(node.op());
    if (rule == nullptr || rule->packs.empty()) return false;
    const NodeQuery query(context_, node);
    return query.call.value(rule->packs) == &weight && query.is_constant(rule->packs);
  }

  // Computes for each node the number of the last product that it depends on, from 1; 0 if there is none.
  void find_depths(const Column& seeds) {
    depth_.assign(graph_.node_ids(), 0);
    std::uint32_t next = 0;
    for (const Node* node = seeds[0]; node != nullptr; node = node->next()) {
      std::uint32_t& depth = depth_[node->id()];
      for (std::size_t i = 0; i < node->operand_count(); ++i)
        if (const Node* producer = node->operand(i)->producer())
          depth = std::max(depth, depth_[producer->id()]);
      if (next < seeds.size() && node == seeds[next]) depth = ++next;
    }
  }

  // Grows columns from the products: adds nodes that all steps apply to results of their own nodes.
  std::vector<Column> grow(const Column& seeds) {
    std::vector<Column> columns;
    add_column(seeds, columns);
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const std::size_t results = columns[column][0]->results().size();
      for (std::size_t result = 0; result < results; ++result) grow_along(columns, column, result);
    }
    return columns;
  }

  void add_column(const Column& nodes, std::vector<Column>& columns) {
    for (std::uint32_t step = 0; step < nodes.size(); ++step) {
      place_[nodes[step]->id()].column = static_cast<std::uint32_t>(columns.size());
      place_[nodes[step]->id()].step = step;
    }
    columns.push_back(nodes);
  }

  void grow_along(std::vector<Column>& columns, std::size_t column, std::size_t result) {
    const std::size_t steps = columns[column].size();
    std::vector<Column> readers(steps);
    for (std::uint32_t step = 0; step < steps; ++step)
      readers[step] = readers_of(*columns[column][step]->result(result), step);
    for (const Node* first : readers[0]) {
      if (is_placed(*first)) continue;  // already joined as a reader of another kind
      Column found = {first};
      for (std::uint32_t step = 1; step < steps; ++step) {
        const auto equal = std::ranges::find_if(readers[step], [&](const Node* reader) {
          return !is_placed(*reader) && is_equal(*first, *reader, step);
        });
        if (equal == readers[step].end()) break;
        found.push_back(*equal);
      }
      if (found.size() == steps) add_column(found, columns);
    }
  }

  bool is_placed(const Node& node) const { return place_[node.id()].column != no_column; }

  // Returns nodes that read the value and depend on no later step, in order and without duplicates.
  Column readers_of(const Value& value, std::uint32_t step) const {
    Column readers;
    for (const Use& use : value.uses()) {
      const Node& node = *use.user();
      if (node.is_return() || &node.graph() != &graph_ || place_[node.id()].is_settled || is_placed(node))
        continue;
      if (depth_[node.id()] == step + 1 && is_taken_(node)) readers.push_back(&node);
    }
    std::ranges::sort(readers, {}, [this](const Node* node) { return number_[node->id()]; });
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    return readers;
  }

  bool is_equal(const Node& first, const Node& other, std::uint32_t step) const {
    if (!alike(first, other)) return false;
    for (std::size_t i = 0; i < first.operand_count(); ++i)
      if (!is_same_operand(*first.operand(i), *other.operand(i), step)) return false;
    return true;
  }

  // True if both operands are results of the same column, the same constant, or outside values of equal type.
  // `a` belongs to the first step, `b` to `step`.
  bool is_same_operand(const Value& a, const Value& b, std::uint32_t step) const {
    const std::uint32_t column = column_in(a, 0);
    if (column != column_in(b, step)) return false;
    if (column != no_column) return a.index() == b.index();
    if (is_constant(a) || is_constant(b)) return &a == &b;
    return a.type() == b.type();
  }

  std::uint32_t column_in(const Value& value, std::uint32_t step) const {
    if (value.producer() == nullptr) return no_column;
    const Place& place = place_[value.producer()->id()];
    return place.step == step ? place.column : no_column;
  }

  bool is_constant(const Value& value) const {
    return value.producer() == nullptr && method_.inputs[value.index()].has_data();
  }

  void add_steps(const std::vector<Column>& columns, std::size_t weight_bytes) {
    const bool is_enough =
        columns.size() >= min_nodes && are_copies_large(weight_bytes, columns[0].size(), columns.size());
    for (std::size_t step = 0; step < columns[0].size() && is_enough; ++step) {
      std::vector<const Node*>& nodes = steps_.emplace_back();
      for (const Column& column : columns) nodes.push_back(column[step]);
    }
    for (const Column& column : columns)
      for (const Node* node : column) place_[node->id()] = {.is_settled = is_enough};
  }

  const Method& method_;
  const QueryContext& context_;
  const std::function<bool(const Node&)>& is_taken_;
  const Graph& graph_;
  std::vector<Place> place_;           // by Node::id()
  std::vector<std::uint32_t> number_;  // by Node::id(): position in the graph's order
  std::vector<std::uint32_t> depth_;   // by Node::id()
  std::vector<std::vector<const Node*>> steps_;
};

}  // namespace

std::vector<std::vector<const Node*>> find_repeats(const QueryContext& context,
                                                   const std::function<bool(const Node&)>& is_taken) {
  return RepeatFinder(context, is_taken).run();
}

}  // namespace depute::xnnpack
