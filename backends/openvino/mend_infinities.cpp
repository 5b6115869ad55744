// Replaces the result of a node by PyTorch's result if a condition on its argument holds:
//
//   ReduceMax(x)     ->  Select(ReduceLogicalAnd(x == -inf), -inf, ReduceMax(x))
//   SDPA(.., mask)   ->  Select(ReduceLogicalAnd(mask == -inf), 0, SDPA(.., mask))
#include "mend_infinities.h"

#include <openvino/op/constant.hpp>
#include <openvino/op/convert.hpp>
#include <openvino/op/equal.hpp>
#include <openvino/op/logical_not.hpp>
#include <openvino/op/reduce_logical_and.hpp>
#include <openvino/op/reduce_max.hpp>
#include <openvino/op/reduce_min.hpp>
#include <openvino/op/scaled_dot_product_attention.hpp>
#include <openvino/op/select.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include "graph_decoder.h"

namespace depute::openvino {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::size_t mask_input = 3;

// Creates a constant from its bytes: an infinite number would be rejected as out of range.
std::shared_ptr<ov::Node> number(const ov::element::Type& type, float value) {
  const auto constant = std::make_shared<ov::op::v0::Constant>(ov::element::f32, ov::Shape{}, &value);
  if (type == ov::element::f32) return constant;
  return std::make_shared<ov::op::v0::Convert>(constant, type);
}

std::shared_ptr<ov::Node> equals(const ov::Output<ov::Node>& values, float value) {
  return std::make_shared<ov::op::v1::Equal>(values, number(values.get_element_type(), value));
}

// Makes all readers of the node's result use `value` where the condition holds.
void choose(const std::shared_ptr<ov::Node>& node, const std::shared_ptr<ov::Node>& condition, float value) {
  ov::Output<ov::Node> output = node->output(0);
  const std::set<ov::Input<ov::Node>> readers = output.get_target_inputs();
  const auto chosen =
      std::make_shared<ov::op::v1::Select>(condition, number(output.get_element_type(), value), output);
  chosen->set_friendly_name(node->get_friendly_name() + "/mended");
  for (ov::Input<ov::Node> reader : readers) reader.replace_source_output(chosen);
}

// Returns the id of the program's node that it was made for, or -1.
std::int64_t origin(const ov::Node& node) {
  const auto found = node.get_rt_info().find(origin_key);
  return found == node.get_rt_info().end() ? -1 : found->second.as<std::int64_t>();
}

// True for an intermediate step of one program node. logsumexp, for example, needs the finite number.
bool is_step(const ov::Node& node) {
  const std::set<ov::Input<ov::Node>> readers = node.output(0).get_target_inputs();
  return std::ranges::all_of(readers, [&node](const ov::Input<ov::Node>& reader) {
    return origin(*reader.get_node()) == origin(node);
  });
}

template <typename Reduce>
void mend_reduction(const std::shared_ptr<Reduce>& reduce, float start) {
  if (!reduce->get_element_type().is_real() || is_step(*reduce)) return;
  const auto all = std::make_shared<ov::op::v1::ReduceLogicalAnd>(
      equals(reduce->input_value(0), start), reduce->input_value(1), reduce->get_keep_dims());
  choose(reduce, all, start);
}

// True if the mask is a constant that keeps at least one element of each row.
bool has_no_empty_row(const ov::Output<ov::Node>& mask) {
  const auto constant = std::dynamic_pointer_cast<ov::op::v0::Constant>(mask.get_node_shared_ptr());
  if (constant == nullptr || constant->get_shape().empty()) return false;
  const bool is_bool = constant->get_element_type() == ov::element::boolean;
  const std::vector<float> values = constant->cast_vector<float>();
  const std::size_t length = constant->get_shape().back();
  const auto is_open = [is_bool](float value) { return is_bool ? value != 0 : value != -infinity; };
  for (auto row = values.begin(); row != values.end(); row += static_cast<std::ptrdiff_t>(length))
    if (std::none_of(row, row + static_cast<std::ptrdiff_t>(length), is_open)) return false;
  return true;
}

void mend_attention(const std::shared_ptr<ov::op::v13::ScaledDotProductAttention>& attention) {
  if (attention->get_causal() || attention->get_input_size() <= mask_input) return;
  const ov::Output<ov::Node> mask = attention->input_value(mask_input);
  const ov::PartialShape& shape = mask.get_partial_shape();
  if (shape.rank().is_static() && shape.rank().get_length() == 0) return;  // a scalar is not a mask
  if (has_no_empty_row(mask)) return;
  const bool is_bool = mask.get_element_type() == ov::element::boolean;
  const std::shared_ptr<ov::Node> is_closed =
      is_bool ? std::make_shared<ov::op::v1::LogicalNot>(mask) : equals(mask, -infinity);
  const auto row = ov::op::v0::Constant::create(ov::element::i64, ov::Shape{1}, {-1});
  choose(attention, std::make_shared<ov::op::v1::ReduceLogicalAnd>(is_closed, row, true), 0);
}

}  // namespace

void mend_infinities(const ov::Model& model) {
  const auto nodes = model.get_ordered_ops();
  for (const std::shared_ptr<ov::Node>& node : nodes) {
    if (const auto most = std::dynamic_pointer_cast<ov::op::v1::ReduceMax>(node)) {
      mend_reduction(most, -infinity);
    } else if (const auto least = std::dynamic_pointer_cast<ov::op::v1::ReduceMin>(node)) {
      mend_reduction(least, infinity);
    } else if (const auto attention =
                   std::dynamic_pointer_cast<ov::op::v13::ScaledDotProductAttention>(node)) {
      mend_attention(attention);
    }
  }
}

}  // namespace depute::openvino
