#include "emitter.h"

#include <algorithm>

#include "ops/broadcast.h"
#include "support/check.h"

namespace depute::xnnpack {
namespace {

// Returns row-major order if the strides define none; in that case no node depends on the order.
Order memory_order(const TensorType& type) {
  auto order = dim_order(type);
  return order ? Order(order->begin(), order->end()) : identity_order(type.rank());
}

}  // namespace

// External ids are those of the arguments (inputs that are not constants, in order), then of the results.
Emitter::Emitter(const Program& program, const Method& method) : program_(program), method_(method) {
  std::uint32_t external_id = 0;
  graph_.ranges = program.ranges;
  graph_.values.reserve(method.graph->inputs().size() + method.graph->node_count());
  graph_.nodes.reserve(method.graph->node_count());
  for (const depute::Value* input : method.graph->inputs()) {
    if (input_spec(method, *input)->has_data()) continue;
    const std::uint32_t position = external_id++;
    if (!input->type().is_tensor()) continue;  // a size: no node reads it
    ValueId id = graph_.add_value(input->tensor().dtype, input->tensor().sizes);
    graph_.values[id].is_input = true;
    graph_.values[id].external_id = position;
    graph_.values[id].input_order = memory_order(input->tensor());
    values_[input] = id;
  }
  graph_.first_output_id = external_id;
}

void Emitter::begin(const Node& node) {
  node_ = &node;
}

XnnGraph Emitter::finish() {
  for (const Argument& output : method_.graph->outputs()) graph_.outputs.push_back(input(*output.as_value()));
  return std::move(graph_);
}

ValueId Emitter::input(const depute::Value& value) {
  auto found = values_.find(&value);
  if (found != values_.end()) return found->second;
  const TensorData* data = constant_data(program_, method_, value);
  CHECK(data != nullptr) << value.name().str();
  const InputSpec* spec = input_spec(method_, value);
  return values_[&value] = graph_.add_constant(xnnpack::constant_of(spec->target.str(), *data));
}

ValueId Emitter::optional_input(const OpCall& call, std::string_view name) {
  const depute::Value* value = call.value(name);
  return value == nullptr ? no_value : input(*value);
}

ValueId Emitter::operand(const OpCall& call, std::string_view name, ValueId like) {
  const depute::Value* value = call.value(name);
  return value == nullptr ? number(call[name].as_double(), like) : input(*value);
}

ValueId Emitter::number(double value, ValueId like) {
  const Dims one = rank(like) == 0 ? Dims{} : Dims{1};
  return graph_.add_constant(filled(dtype(like), one, value));
}

const Constant* Emitter::constant_of(ValueId id) const {
  if (id == no_value || !graph_.values[id].constant) return nullptr;
  return &*graph_.values[id].constant;
}

std::optional<QuantizedWeight> Emitter::weight_of(const Node& node) const {
  const Options options;
  return quantized_weight({options, &program_, &method_}, *node.result());
}

ValueId Emitter::add(NodeKind kind, std::initializer_list<ValueId> inputs, NodeParams params) {
  Dims result = sizes(*inputs.begin());
  for (ValueId input : std::span(inputs).subspan(1)) result = broadcast_known(result, sizes(input));
  return add_sized(kind, inputs, std::move(result), std::move(params));
}

ValueId Emitter::add_sized(NodeKind kind, std::initializer_list<ValueId> inputs, Dims sizes,
                           NodeParams params, std::uint32_t flags) {
  return add_sized(kind, std::span<const ValueId>(inputs.begin(), inputs.size()), std::move(sizes),
                   std::move(params), flags);
}

ValueId Emitter::add_sized(NodeKind kind, std::span<const ValueId> inputs, Dims sizes, NodeParams params,
                           std::uint32_t flags) {
  XnnNode node;
  node.kind = kind;
  node.inputs.assign(inputs.begin(), inputs.end());
  node.params = std::move(params);
  node.flags = flags;
  for_each_origin(*node_, [&](const NodeOrigin& origin) {
    if (origin.debug_handle != 0) merge_handles(node.handles, {origin.debug_handle});
  });
  node.output = graph_.add_value(dtype(inputs[0]), std::move(sizes));
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().output;
}

ValueId Emitter::clamp(ValueId id, double min, double max) {
  ValueId clamped = add(NodeKind::Clamp, {id});
  graph_.nodes.back().output_min = static_cast<float>(min);
  graph_.nodes.back().output_max = static_cast<float>(max);
  return clamped;
}

ValueId Emitter::convert(ValueId id, ScalarType dtype) {
  ValueId converted = add(NodeKind::Convert, {id});
  graph_.values[converted].dtype = dtype;
  return converted;
}

ValueId Emitter::quantize(ValueId id, const TensorScale& scale) {
  const ValueId integers = convert(id, ScalarType::I8);
  graph_.values[integers].quantization = scale;
  return integers;
}

ValueId Emitter::dequantize(ValueId id, const TensorScale& scale) {
  const auto* known = std::get_if<TensorScale>(&graph_.values[id].quantization);
  const Constant* constant = constant_of(id);
  if (constant != nullptr && known != nullptr && *known != scale)  // the same bytes with another scale
    id = graph_.add_constant(Constant(*constant));
  graph_.values[id].quantization = scale;
  return convert(id, ScalarType::F32);
}

ValueId Emitter::reshape(ValueId id, const Dims& target) {
  if (sizes(id) == target) return id;
  if (const Constant* constant = constant_of(id)) return graph_.add_constant(reshaped(*constant, target));
  return add_sized(NodeKind::Reshape, {id}, target);
}

ValueId Emitter::permute(ValueId id, const Order& order) {
  if (is_identity(order)) return id;
  if (const Constant* constant = constant_of(id)) return graph_.add_constant(permuted(*constant, order));
  return add_sized(NodeKind::Transpose, {id}, permuted(sizes(id), order), order);
}

ValueId Emitter::slice(ValueId id, std::size_t dim, std::int64_t offset, std::int64_t size) {
  Dims target = sizes(id);
  if (target[dim] == size) return id;
  SliceRange range;
  for (const SymInt& whole : target) {
    range.offsets.push_back(0);
    range.sizes.push_back(whole.is_constant() ? static_cast<std::uint32_t>(whole.value()) : 0);
  }
  range.offsets[dim] = static_cast<std::uint32_t>(offset);
  range.sizes[dim] = static_cast<std::uint32_t>(size);
  target[dim] = size;
  return add_sized(NodeKind::Slice, {id}, std::move(target), std::move(range));
}

ValueId Emitter::expand(ValueId id, const Dims& target) {
  if (sizes(id) == target) return id;
  return add_sized(NodeKind::Expand, {id}, target);
}

void Emitter::result(ValueId id, std::size_t i) {
  values_[node_->result(i)] = id;
}

void Emitter::result_in_rows(ValueId id) {
  result(id);
  in_rows_.insert(node_->result());
}

Dims broadcast_known(const Dims& a, const Dims& b) {
  return broadcast_sizes(a, b, [](const SymInt&, const SymInt&) { return Status(); }).value();
}

}  // namespace depute::xnnpack
