// Unifies the sizes of results selected by equal masks. Torch gives each of them a separate symbol.
//
//   %a: bool[4] = aten.logical_not.default(%m)
//   %b: bool[4] = aten.logical_not.default(%m)                   uses of %b become uses of %a
//   %x: f32[u0] = aten.index.Tensor(%h, [%a])
//   %y: f32[u1] = aten.index.Tensor(%h, [%b])                    u1 becomes u0
//   %z: f32[u0] = aten.add_.Tensor(%x, %y)
//
// Mutation is not undone yet, so only values whose memory is never written are considered.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "ir/same_call.h"
#include "ir/sym/replace_symbols.h"
#include "normalize/passes.h"
#include "ops/tensors/choices.h"

namespace depute {
namespace {

// Finds values that may share memory with a value that some node writes.
class Writes {
 public:
  explicit Writes(const Graph& graph) {
    for (const Node& node : graph.nodes()) visit(node);
  }

  bool is_written(const Value* value) const { return written_.contains(root_of(value)); }

 private:
  // Records writes: a known op writes the arguments that its schema names; one without a schema may write
  // all.
  void visit(const Node& node) {
    const OpDef* def = node.def();
    std::vector<const Value*> together;  // may share memory
    const bool is_known = def != nullptr && check_call(node).has_value();
    const bool is_pure = is_known && def->is_pure();
    if (is_known && !is_pure) {
      const OpCall call(node);
      for (std::size_t i = 0; i < call.args().size(); ++i)
        if (def->args[i].is_written) add_values(call[i], together);
    } else if (!is_known || def->is(OpFlag::View) || def->is(OpFlag::MayView)) {
      for (std::size_t i = 0; i < node.operand_count(); ++i) together.push_back(node.operand(i));
    }
    if (together.empty()) return;
    together.insert(together.end(), node.results().begin(), node.results().end());
    for (const Value* value : together) unite(together[0], value);
    if (!is_pure) written_.insert(root_of(together[0]));
  }

  static void add_values(const Argument& argument, std::vector<const Value*>& values) {
    if (argument.is_value()) values.push_back(argument.as_value());
    if (!argument.is_list()) return;
    for (const Argument& each : argument.as_list()) add_values(each, values);
  }

  // Halves paths on the way, so that long chains of views stay near-linear.
  const Value* root_of(const Value* value) const {
    for (auto up = above_.find(value); up != above_.end(); up = above_.find(value)) {
      const auto next = above_.find(up->second);
      if (next != above_.end()) up->second = next->second;
      value = up->second;
    }
    return value;
  }

  void unite(const Value* a, const Value* b) {
    const Value *top = root_of(a), *other = root_of(b);
    if (top == other) return;
    above_[other] = top;
    if (written_.contains(other)) written_.insert(top);
  }

  mutable std::unordered_map<const Value*, const Value*> above_;
  std::unordered_set<const Value*> written_;  // roots
};

// Returns the tensor whose nonzero elements are counted by a size of the node's results, or null.
Value* mask_of(Graph& graph, const Node& node) {
  const OpDef* def = node.def();
  if (def == nullptr || def->data_dependent_size.empty()) return nullptr;
  const std::string_view choosing = choosing_argument(*def);
  if (choosing.empty() || !check_call(node)) return nullptr;
  const OpCall call(node);
  const Argument& argument = call[choosing];
  const Value* mask = argument.is_value() ? argument.as_value() : nullptr;
  if (argument.is_list()) {  // one mask among indices; the others are None
    std::size_t count = 0;
    for (const Argument& each : argument.as_list()) {
      if (!each.is_value()) continue;
      mask = each.as_value();
      ++count;
    }
    if (count != 1 || !mask->type().is_tensor()) return nullptr;
    const ScalarType dtype = mask->tensor().dtype;
    if (dtype != ScalarType::Bool && dtype != ScalarType::U8) return nullptr;
  }
  if (mask == nullptr || !mask->type().is_tensor()) return nullptr;
  if (choosing != def->data_dependent_size.str() &&
      !argument.is_list()) {  // a broadcast mask counts more elements
    if (call.tensor(def->data_dependent_size.str()).sizes != mask->tensor().sizes) return nullptr;
  }
  return graph.own(*mask);
}

// Merges repeated calls among the nodes that compute masks.
class MaskCalls {
 public:
  MaskCalls(Graph& graph, const Writes& writes) : graph_(graph), writes_(writes) {}

  void need(const Value* mask) {
    std::vector<const Value*> pending{mask};
    while (!pending.empty()) {
      const Node* node = pending.back()->producer();
      pending.pop_back();
      if (node == nullptr || !needed_.insert(node).second) continue;
      for (std::size_t i = 0; i < node->operand_count(); ++i) pending.push_back(node->operand(i));
    }
  }

  void merge() {
    for (Node& node : graph_.nodes()) {
      if (!needed_.contains(&node) || !may_merge(node)) continue;
      std::vector<Node*>& alike = seen_[call_hash(node).low];
      const auto first = std::ranges::find_if(alike, [&](Node* other) { return repeats(*other, node); });
      if (first == alike.end()) {
        alike.push_back(&node);
        continue;
      }
      for (std::size_t i = 0; i < node.results().size(); ++i)
        graph_.replace_uses(*node.result(i), (*first)->result(i));
      graph_.erase(node);
    }
  }

 private:
  bool may_merge(const Node& node) const {
    if (node.def() == nullptr || !node.def()->is_pure() || node.def()->is(OpFlag::Quantization)) return false;
    for (std::size_t i = 0; i < node.operand_count(); ++i)
      if (writes_.is_written(node.operand(i))) return false;
    return std::ranges::none_of(node.results(),
                                [&](const Value* result) { return writes_.is_written(result); });
  }

  static bool repeats(const Node& first, const Node& later) {
    if (!same_call(first, later) || first.results().size() != later.results().size()) return false;
    for (std::size_t i = 0; i < later.results().size(); ++i)
      if (first.result(i)->type() != later.result(i)->type()) return false;
    return true;
  }

  Graph& graph_;
  const Writes& writes_;
  std::unordered_set<const Node*> needed_;
  std::unordered_map<std::uint64_t, std::vector<Node*>> seen_;
};

using EarlierSymbols = std::unordered_map<Name, Name>;

// Maps symbols to equal earlier symbols.
class ChoiceSizes {
 public:
  ChoiceSizes(Graph& graph, const Writes& writes, Ranges& ranges)
      : graph_(graph), writes_(writes), ranges_(ranges) {}

  EarlierSymbols find() {
    for (const Value* input : graph_.inputs()) meet(*input);
    for (Node& node : graph_.nodes()) {
      const std::vector<Name> fresh = fresh_symbols(node);
      for (const Value* result : node.results()) meet(*result);
      if (fresh.size() != 1 || !is_size(fresh[0], node)) continue;
      const Value* mask = mask_of(graph_, node);
      if (mask == nullptr || writes_.is_written(mask)) continue;
      const auto [size, is_first] = sizes_.try_emplace(mask, fresh[0]);
      if (!is_first && narrow(fresh[0], size->second)) names_.emplace(fresh[0], size->second);
    }
    return std::move(names_);
  }

 private:
  static std::vector<Name> symbols_in(const Value& value) {
    std::vector<Name> symbols;
    const auto add = [&](const SymExpr* expr) {
      for (Name symbol : symbols_of(expr)) symbols.push_back(symbol);
    };
    if (value.type().expr != nullptr) add(value.type().expr);
    for (const SymInt& size : value.type().tensor.sizes)
      if (!size.is_constant()) add(size.expr());
    return symbols;
  }

  std::vector<Name> fresh_symbols(const Node& node) const {
    std::vector<Name> fresh;
    for (const Value* result : node.results()) {
      for (Name symbol : symbols_in(*result))
        if (!met_.contains(symbol) && std::ranges::count(fresh, symbol) == 0) fresh.push_back(symbol);
    }
    return fresh;
  }

  // True if the symbol is a whole size; a size that contains it as a part counts something else.
  static bool is_size(Name symbol, const Node& node) {
    const SymInt whole(sym_symbol(symbol.str()));
    return std::ranges::all_of(node.results(), [&](const Value* result) {
      return std::ranges::count(result->type().tensor.sizes, whole) == 1;
    });
  }

  void meet(const Value& value) {
    for (Name symbol : symbols_in(value)) met_.insert(symbol);
  }

  // Intersects both ranges. False if they are disjoint.
  bool narrow(Name symbol, Name other) {
    const auto known = ranges_.find(symbol.str());
    if (known == ranges_.end()) return true;
    const Range more = known->second;
    Range& range = ranges_[std::string(other.str())];
    const Range both{std::max(range.min, more.min), std::min(range.max, more.max)};
    if (both.min > both.max) return false;
    range = both;
    return true;
  }

  Graph& graph_;
  const Writes& writes_;
  Ranges& ranges_;
  EarlierSymbols names_;
  std::unordered_set<Name> met_;
  std::unordered_map<const Value*, Name> sizes_;  // by mask
};

void rename_symbols(Graph& graph, const EarlierSymbols& names) {
  const auto replacement = [&](std::string_view name) {
    const auto found = names.find(Name::scoped(name));
    return sym_symbol(found == names.end() ? name : found->second.str());
  };
  for (Node& node : graph.nodes())
    for (Value* result : node.results())
      graph.set_type(*result, replace_symbols(result->type(), replacement));
}

void unify(Graph& graph, Ranges& ranges) {
  std::vector<const Value*> masks;
  for (const Node& node : graph.nodes())
    if (const Value* mask = mask_of(graph, node)) masks.push_back(mask);
  if (masks.size() < 2) return;
  const Writes writes(graph);
  MaskCalls calls(graph, writes);
  for (const Value* mask : masks) calls.need(mask);
  calls.merge();
  const EarlierSymbols names = ChoiceSizes(graph, writes, ranges).find();
  if (!names.empty()) rename_symbols(graph, names);
}

}  // namespace

// Afterwards results selected by equal masks have the same size if no node writes the masks. Methods with
// bodies or delegates keep all symbols, since those would need renaming as well.
Status unify_choice_sizes(Program& program, const NormalizeOptions&) {
  if (!program.delegates.empty()) return {};
  return for_each_graph(program, [&](const Method& method, Graph& graph) -> Status {
    if (method.bodies.empty()) unify(graph, program.ranges);
    return {};
  });
}

}  // namespace depute
