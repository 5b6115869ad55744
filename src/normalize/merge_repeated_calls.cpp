// Merges repeated calls (common subexpression elimination): masks, positions and shapes that a model
// recomputes in each layer are computed once.
//
//   %a: f32[1, 8] = aten.where.self(%mask, %zero, %low)
//   %b: f32[1, 8] = aten.where.self(%mask, %zero, %low)      uses of %b become uses of %a
//
// Torch gives each call with a result of unknown size or value a separate symbol; merging the calls merges
// their symbols.
//
//   %p: sym_int[u0] = aten._local_scalar_dense.default(%position)
//   %q: sym_int[u1] = aten._local_scalar_dense.default(%position)      u1 becomes u0
//
// Quantizing ops are not merged: backends and kernels expect them next to the ops that they quantize.
#include <algorithm>
#include <bit>
#include <string>
#include <unordered_map>
#include <vector>

#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "ir/same_call.h"
#include "ir/sym/replace_symbols.h"
#include "normalize/passes.h"

namespace depute {
namespace {

bool may_merge(const Node& node) {
  const OpDef* def = node.def();
  return def != nullptr && def->is_pure() && !def->is(OpFlag::Quantization);
}

// Maps symbols to equal symbols, found through repeated calls.
class SymbolNames {
 public:
  // Graphs with bodies or delegates keep all names, since those would need renaming as well.
  SymbolNames(Program& program, const Method& method)
      : program_(program),
        graph_(*method.graph),
        is_fixed_(!method.bodies.empty() || !program.delegates.empty()) {}

  // True if both calls' results have the same types once symbols introduced by `later` are replaced by those
  // of `first`.
  bool unite(const Node& first, const Node& later) {
    const std::size_t known = names_.size();
    for (std::size_t i = 0; i < later.results().size(); ++i) {
      const Type& given = first.result(i)->type();
      const Type& other = later.result(i)->type();
      if (given == other) continue;
      if (is_fixed_ || !find_names(given, other, later)) return forget(known);
      if (renamed(other) != given) return forget(known);
    }
    for (std::size_t i = known; i < names_.size(); ++i) narrow(names_[i]);
    return true;
  }

  void rename_results(Graph& graph, Node& node) const {
    if (names_.empty()) return;
    for (Value* value : node.results()) graph.set_type(*value, renamed(value->type()));
  }

 private:
  struct MergedSize {
    Name symbol;
    const SymExpr* other;
  };

  Type renamed(const Type& type) const {
    return replace_symbols(type, [&](std::string_view name) {
      const auto found =
          std::ranges::find(names_, name, [](const MergedSize& each) { return each.symbol.str(); });
      return found == names_.end() ? sym_symbol(name) : found->other;
    });
  }

  bool find_names(const Type& given, const Type& other, const Node& later) {
    if (given.kind != other.kind || given.tensor.rank() != other.tensor.rank()) return false;
    bool is_found = add_name(given.expr, other.expr, later);
    for (std::size_t i = 0; i < given.tensor.rank(); ++i)
      is_found = add_name(given.tensor.sizes[i].expr(), other.tensor.sizes[i].expr(), later) && is_found;
    return is_found;
  }

  // False if renaming a symbol introduced by `later` cannot make the two expressions equal.
  bool add_name(const SymExpr* given, const SymExpr* other, const Node& later) {
    if (given == other) return true;
    if (given == nullptr || other == nullptr) return false;
    if (given->kind != SymExpr::Kind::Symbol || other->kind != SymExpr::Kind::Symbol) return false;
    const Range a = bounds(given, program_.ranges), b = bounds(other, program_.ranges);
    if (definer(other->name) != &later || std::max(a.min, b.min) > std::min(a.max, b.max)) return false;
    names_.push_back({other->name, given});
    return true;
  }

  // Returns the node whose results introduce the symbol; null for symbols of inputs.
  const Node* definer(Name symbol) {
    if (definers_.empty()) {
      for (const Value* input : graph_.inputs()) define(*input, nullptr);
      for (const Node& node : graph_.nodes())
        for (const Value* result : node.results()) define(*result, &node);
    }
    const auto found = definers_.find(symbol);
    return found == definers_.end() ? nullptr : found->second;
  }

  void define(const Value& value, const Node* node) {
    const auto add = [&](const SymExpr* expr) {
      for (Name symbol : symbols_of(expr)) definers_.try_emplace(symbol, node);
    };
    if (value.type().expr != nullptr) add(value.type().expr);
    for (const SymInt& size : value.type().tensor.sizes)
      if (!size.is_constant()) add(size.expr());
  }

  bool forget(std::size_t known) {
    names_.resize(known);
    return false;
  }

  // Intersects the ranges of both names.
  void narrow(const MergedSize& name) {
    const auto known = program_.ranges.find(name.symbol.str());
    if (known == program_.ranges.end()) return;
    const Range more = known->second;
    Range& range = program_.ranges[std::string(name.other->name.str())];
    range = {std::max(range.min, more.min), std::min(range.max, more.max)};
  }

  Program& program_;
  const Graph& graph_;
  bool is_fixed_;
  std::vector<MergedSize> names_;
  std::unordered_map<Name, const Node*> definers_;
};

// Hash table of the calls seen so far. It is flat: a lookup costs one cache miss instead of four for 100,000
// calls.
class SeenCalls {
 public:
  SeenCalls(std::size_t most, SymbolNames& names) : slots_(std::bit_ceil(2 * most + 1)), names_(names) {}

  // Returns an earlier call that `node` repeats; otherwise adds `node` and returns null.
  Node* find_or_add(Node& node) {
    const Hash128 hash = call_hash(node);
    std::size_t i = hash.low & (slots_.size() - 1);
    for (; slots_[i].node != nullptr; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].hash == hash.high && repeats(*slots_[i].node, node)) return slots_[i].node;
    slots_[i] = {&node, hash.high};
    return nullptr;
  }

 private:
  struct Slot {
    Node* node = nullptr;
    std::uint64_t hash = 0;  // the half of the hash that does not select the slot
  };
  bool repeats(const Node& first, const Node& later) {
    return same_call(first, later) && names_.unite(first, later);
  }

  std::vector<Slot> slots_;
  SymbolNames& names_;
};

void merge(Program& program, const Method& method, Graph& graph) {
  SymbolNames names(program, method);
  SeenCalls seen(graph.node_count(), names);
  for (Node& node : graph.nodes()) {
    names.rename_results(graph, node);
    Node* first = may_merge(node) ? seen.find_or_add(node) : nullptr;
    if (first == nullptr) continue;
    for (std::size_t i = 0; i < node.results().size(); ++i)
      graph.replace_uses(*node.result(i), first->result(i));
    graph.erase(node);
  }
}

}  // namespace

// Afterwards no two pure calls of a graph have the same op, arguments and types, except quantizing ones.
Status merge_repeated_calls(Program& program, const NormalizeOptions&) {
  return for_each_graph(program, [&](const Method& method, Graph& graph) -> Status {
    merge(program, method, graph);
    return {};
  });
}

}  // namespace depute
