// The tensors that exist in memory for each logical value, and the transposes that make more of them.
//
// A family is a tensor under one name for its dimensions, with the forms of it made so far: one per order. A
// logical value is a view of a family that may call the dimensions otherwise, so that a program's permute
// adds no node, and its forms are shared with what it permutes.
#pragma once

#include <map>
#include <unordered_map>

#include "graph.h"

namespace depute::xnnpack {

class ValueForms {
 public:
  // Reads `logical`, adds to `physical`; both outlive this object.
  ValueForms(const XnnGraph& logical, XnnGraph& physical);

  const Dims& sizes(ValueId value) const { return logical_.values[value].sizes; }
  std::size_t rank(ValueId value) const { return sizes(value).size(); }
  const std::optional<Constant>& constant(ValueId value) const { return logical_.values[value].constant; }

  // `value` is computed by a node that wrote `id`, which lies in `order`.
  void define(ValueId value, const Order& order, ValueId id);
  // `value` is `source` with its dimensions called otherwise: dimension i is `perm[i]` of the source.
  void define_permuted(ValueId value, ValueId source, const Order& perm);

  // The orders in which a value that is not a constant lies in memory already, first made first.
  std::vector<Order> orders(ValueId value) const;
  // Elements that must be moved to have the value in this order.
  double cost(ValueId value, const Order& order) const;
  // The value in this order; transposed on behalf of `node` if it does not exist yet.
  ValueId get(ValueId value, const Order& order, const XnnNode& node);
  // The same, with dimensions of size 1 put in front until it has `rank` of them: for broadcasting. `order`
  // is of all of them. Infinite cost when it cannot be written.
  ValueId get_widened(ValueId value, std::size_t rank, const Order& order, const XnnNode& node);
  double cost_widened(ValueId value, std::size_t rank, const Order& order) const;
  // A constant for weights or biases. Packing nodes have values of their own: the runtime frees the bytes.
  ValueId packed(ValueId value);

  // `id` with other sizes; adds no node when they are what it has or had before a reshape.
  ValueId reshape(ValueId id, const Dims& sizes, const XnnNode& node);
  // A node on physical values; its result has these sizes. Clamp, flags, parameters and handles come from
  // `like`.
  ValueId emit(NodeKind kind, std::initializer_list<ValueId> inputs, const Dims& sizes, const XnnNode& like,
               NodeParams params = {});
  // A node whose result has the element type and quantisation of `type`.
  ValueId emit_node(XnnNode node, const Dims& sizes, const XnnValue& type);
  ValueId add_constant(const Constant& constant, const Quantisation& quantisation = {});

 private:
  struct Form {
    Order order;  // of the family's dimensions
    ValueId id;
  };
  struct Family {
    std::vector<Form> forms;
  };
  struct View {
    std::uint32_t family = no_value;
    Order names;  // the family's dimension for each of the value's
  };

  const Form* find_form(const View& view, const Order& order) const;
  bool is_reshape(ValueId value, const Order& from, const Order& to) const;

  const XnnGraph& logical_;
  XnnGraph& physical_;
  std::vector<Family> families_;
  std::vector<View> views_;
  std::unordered_map<ValueId, ValueId> packed_;          // by logical value
  std::unordered_map<ValueId, ValueId> reshape_source_;  // what a physical reshape reads
  std::map<std::string, ValueId> constants_;             // by key and sizes
};

// True when no more than one size is symbolic: a Reshape can infer that one.
bool can_reshape_to(const Dims& sizes);
// Elements, for comparing costs; symbolic sizes count as a middling number.
double element_count(const Dims& sizes);

}  // namespace depute::xnnpack
