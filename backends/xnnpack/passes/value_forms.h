// The physical tensors of each logical value, and transposes that create more of them.
//
// A family is a tensor with fixed names of its dimensions, and its forms: one physical tensor per order. A
// logical value is a view of a family that may rename dimensions. A permute of the program therefore adds no
// node and shares the forms of its operand.
#pragma once

#include <map>
#include <unordered_map>

#include "backends/xnnpack/graph.h"

namespace depute::xnnpack {

class ValueForms {
 public:
  // Reads `logical` and adds to `physical`; both must outlive this object.
  ValueForms(const XnnGraph& logical, XnnGraph& physical);

  const Dims& sizes(ValueId value) const { return logical_.values[value].sizes; }
  std::size_t rank(ValueId value) const { return sizes(value).size(); }
  const std::optional<Constant>& constant(ValueId value) const { return logical_.values[value].constant; }

  // Records that a node has computed `value` as the physical value `id` in `order`.
  void define(ValueId value, const Order& order, ValueId id);
  // Records that `value` is a permutation of `source`: dimension i is the source's dimension perm[i].
  void define_permuted(ValueId value, ValueId source, const Order& perm);

  // Returns the existing orders of a value that is not a constant, in order of creation.
  std::vector<Order> orders(ValueId value) const;
  // Number of elements that must be moved to have the value in this order.
  double cost(ValueId value, const Order& order) const;
  // Returns the value in this order. Inserts a transpose for `node` if the form does not exist yet.
  ValueId get(ValueId value, const Order& order, const XnnNode& node);
  // Like get(), with leading dimensions of size 1 up to `rank`, for broadcasting. `order` includes those
  // dimensions. The cost is infinite if the form cannot be created.
  ValueId get_widened(ValueId value, std::size_t rank, const Order& order, const XnnNode& node);
  double cost_widened(ValueId value, std::size_t rank, const Order& order) const;
  // Returns a constant for weights or biases. The runtime frees its bytes, so each packing node gets its own.
  ValueId packed(ValueId value);

  // Returns `id` with other sizes. Adds no node if they are its sizes, or its sizes before a reshape.
  ValueId reshape(ValueId id, const Dims& sizes, const XnnNode& node);
  // Adds a node on physical values, with these result sizes. Everything else comes from `like`.
  ValueId emit(NodeKind kind, std::initializer_list<ValueId> inputs, const Dims& sizes, const XnnNode& like,
               NodeParams params = {});
  // Adds a node whose result has the element type and quantization of `type`.
  ValueId emit_node(XnnNode node, const Dims& sizes, const XnnValue& type);
  ValueId add_constant(const Constant& constant, const Quantization& quantization = {});

 private:
  struct Form {
    Order order;  // order of the family's dimensions
    ValueId id;
  };
  struct Family {
    std::vector<Form> forms;
  };
  struct View {
    std::uint32_t family = no_value;
    Order names;  // by dimension of the value: the family's dimension
  };

  const Form* find_form(const View& view, const Order& order) const;
  bool is_reshape(ValueId value, const Order& from, const Order& to) const;

  const XnnGraph& logical_;
  XnnGraph& physical_;
  std::vector<Family> families_;
  std::vector<View> views_;
  std::unordered_map<ValueId, ValueId> packed_;          // by logical value
  std::unordered_map<ValueId, ValueId> reshape_source_;  // physical reshape -> its operand
  std::map<std::string, ValueId> constants_;             // by key and sizes
};

// True if at most one size is symbolic: a Reshape can infer that one.
bool can_reshape_to(const Dims& sizes);
// Number of elements for cost comparisons; a symbolic size counts as 64.
double element_count(const Dims& sizes);

}  // namespace depute::xnnpack
