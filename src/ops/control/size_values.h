// Values for symbolic sizes: sym_size of a graph input, and arithmetic on such values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "depute/program/graph.h"
#include "depute/program/sym.h"

namespace depute {

class SizeFacts;

// Table of the values in a graph that hold symbolic sizes, so that each size is computed only once. One table
// per graph and walk.
//
// A size that depends on graph inputs only is computed at the top of the graph, for all later nodes. A size
// computed by a node (a number read from a tensor, for example) is available only behind that node. A walk
// that uses one table must therefore go forward.
class SizeValues {
 public:
  // `ranges`, if given, bound the sizes of new nodes and must outlive the table.
  explicit SizeValues(Graph& graph, const Ranges* ranges = nullptr);
  ~SizeValues();
  SizeValues(const SizeValues&) = delete;
  SizeValues& operator=(const SizeValues&) = delete;

  // Simplifies the sizes of `type` as far as the ranges allow.
  void simplify(Type& type);
  // Returns the range of a size. Without ranges, a symbolic size is unbounded.
  Range range_of(const SymInt& size) const;

  // Returns a value of `expr` that is available before `before`, or null if a symbol has no value there. New
  // nodes get `origin`, the origin of the first node that needs the size.
  Value* find_or_build(const SymExpr* expr, Node* before, const NodeOrigin& origin);

 private:
  void scan();
  Value* find_or_build(const SymExpr* expr, Node* before);
  Value* add(std::string_view op, std::initializer_list<Argument> args, const SymExpr* expr, Node* before);
  Value* build_symbol(const SymExpr* expr, const Node* before);
  Value* size_of_result(const SymExpr* expr, const Node* before);
  Value* build_call(const SymExpr* expr, Node* before);
  Value* add_at_top(std::string_view op, std::initializer_list<Argument> args, const SymExpr* expr);

  Graph* graph_;
  std::unique_ptr<SizeFacts> facts_;  // null without ranges
  bool scanned_ = false;
  NodeOrigin origin_;
  Node* last_at_top_ = nullptr;
  std::unordered_map<const SymExpr*, Value*> values_;
  std::unordered_map<const SymExpr*, bool> from_inputs_;  // entries of values_ at the top of the graph
  struct InputSize {
    Value* input;
    std::int64_t dim;
    std::int64_t factor;  // the size is factor * symbol
  };
  std::unordered_map<const SymExpr*, InputSize> input_sizes_;  // by symbol
};

}  // namespace depute
