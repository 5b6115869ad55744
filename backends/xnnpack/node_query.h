// A node as seen by the rules that decide whether to take it, and the conditions that all nodes must meet.
#pragma once

#include <string>
#include <vector>

#include "depute/program/program.h"
#include "op_rule.h"

namespace depute::xnnpack {

enum class Setting : std::uint8_t { ByCost, Always, Never };

struct Options {
  Setting layer_norm = Setting::ByCost;  // take native_layer_norm, by its parts
  Setting repeats = Setting::ByCost;     // steps that repeat with the same weights are delegates of their own
  bool half_weights = false;             // store weights as f16
};

// The node's program and method. Both are null before normalization; then tensors may have any layout, sizes
// may be unbounded, and every graph input may be a constant.
struct QueryContext {
  const Options& options;
  const Program* program = nullptr;
  const Method* method = nullptr;
};

class NodeQuery {
 public:
  NodeQuery(const QueryContext& context, const Node& node) : call(node), context_(context) {}

  const OpCall call;

  const Node& node() const { return *call.node(); }
  const QueryContext& context() const { return context_; }
  const Options& options() const { return context_.options; }
  const TensorType& tensor(std::string_view name) const { return call.value(name)->tensor(); }
  const TensorType& result(std::size_t i = 0) const { return node().result(i)->tensor(); }
  bool has(std::string_view name) const { return !call[name].is_none(); }
  // True if the argument is a constant of the program: neither computed nor mutated.
  bool is_constant(std::string_view name) const;

 private:
  QueryContext context_;
};

// Element types that every node accepts. Rules with integers check their types themselves.
constexpr ScalarType float_types[] = {ScalarType::F32, ScalarType::F16};

// Checks general conditions, then the rule's forms, then calls the rule's own check.
Check check_node(const QueryContext& context, const Node& node);

// --- checks that several rules share

std::string sizes_text(const Dims& sizes);  // "[1, s0, 8]"
Check refuse_argument(const NodeQuery& node, std::string_view name, std::string_view allowed);
// True for a convolution whose groups have one input channel each.
bool is_depthwise(const OpCall& convolution);
// Requires a number that is known at compile time.
Check need_number(const NodeQuery& node, std::string_view name);
Check need_constant(const NodeQuery& node, std::string_view name);
Check need_ints(const NodeQuery& node, std::string_view name);
// Requires ints of at least `least` that fit into the payload.
Check need_ints(const NodeQuery& node, std::string_view name, std::int64_t least);
Check need_rank(const TensorType& type, std::size_t least, std::size_t most);
// Allows at most one dynamic size, since XNNPACK can infer one.
Check need_reshapable(const TensorType& type);
// Requires that no size is 0 at run time.
Check need_elements(const NodeQuery& node, const Dims& sizes);
Check need_dtype(const TensorType& type, ScalarType dtype);
// Returns an int argument that names a dimension, counted from the front.
std::size_t dimension(const OpCall& call, std::string_view name, std::size_t rank);

}  // namespace depute::xnnpack
