#include "passes/assign_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "passes/value_forms.h"
#include "support/check.h"

namespace depute::xnnpack {
namespace {

constexpr std::size_t max_concat_inputs = 5;

class LayoutAssigner {
 public:
  explicit LayoutAssigner(const XnnGraph& logical)
      : logical_(logical), preferred_(find_preferred_orders(logical)), forms_(logical, physical_) {}
  XnnGraph run();

 private:
  const Dims& sizes(ValueId value) const { return forms_.sizes(value); }
  std::size_t rank(ValueId value) const { return forms_.rank(value); }
  ValueId get(const XnnNode& node, std::size_t input, const Order& order) {
    return forms_.get(node.inputs[input], order, node);
  }

  // Chooses the order for a node whose inputs and result share one, among the orders that `fits` allows.
  // Returns `fallback` if it allows neither an input's order nor the preferred order of the result.
  template <typename Fits>
  Order choose_order(const XnnNode& node, Fits&& fits, const Order& fallback) const;
  Order choose_order(const XnnNode& node) const;
  void finish(const XnnNode& node, const Order& order, XnnNode physical);

  void assign(const XnnNode& node);
  void assign_elementwise(const XnnNode& node);
  void assign_window(const XnnNode& node);
  void assign_fully_connected(const XnnNode& node);
  // Consumers of dynamically quantized integers: products of rows, or windows over images. The runtime turns
  // pointwise convolutions into products of rows and gives each pixel of their input its own scale. Other
  // convolutions must therefore not share this input.
  enum class Readers : std::uint8_t { Rows, Windows, Pointwise };
  ValueId quantized_input(const XnnNode& physical, Readers readers);
  void assign_matrix_multiply(const XnnNode& node);
  void assign_softmax(const XnnNode& node);
  void assign_mean(const XnnNode& node);
  void assign_reshape(const XnnNode& node);
  void assign_slice(const XnnNode& node);
  void assign_pad(const XnnNode& node);
  void assign_concat(const XnnNode& node);
  void assign_expand(const XnnNode& node);
  void assign_affine(const XnnNode& node);
  void assign_outputs();

  const XnnGraph& logical_;
  std::vector<std::optional<Order>> preferred_;
  XnnGraph physical_;
  ValueForms forms_;
  std::map<std::pair<ValueId, Readers>, ValueId> quantized_inputs_;  // by physical value
};

template <typename Fits>
Order LayoutAssigner::choose_order(const XnnNode& node, Fits&& fits, const Order& fallback) const {
  const std::size_t result_rank = rank(node.output);
  const std::optional<Order>& preferred = preferred_[node.output];
  std::vector<Order> candidates;
  const auto add = [&](const Order& order) {
    if (std::ranges::find(candidates, order) == candidates.end()) candidates.push_back(order);
  };
  if (preferred) add(*preferred);
  for (ValueId input : node.inputs) {
    if (input == no_value || rank(input) != result_rank) continue;
    for (const Order& order : forms_.orders(input)) add(order);
  }
  add(fallback);
  if (candidates.size() == 1) return fallback;
  const Order* best = &fallback;
  double best_cost = std::numeric_limits<double>::infinity();
  for (const Order& order : candidates) {
    if (!fits(order)) continue;
    double cost = preferred && !same_elements(*preferred, order, sizes(node.output))
                      ? element_count(sizes(node.output))
                      : 0;
    for (ValueId input : node.inputs) {
      if (input != no_value) cost += forms_.cost_widened(input, result_rank, order);
    }
    if (cost >= best_cost) continue;
    best = &order;
    best_cost = cost;
  }
  return *best;
}

Order LayoutAssigner::choose_order(const XnnNode& node) const {
  return choose_order(node, [](const Order&) { return true; }, identity_order(rank(node.output)));
}

// Emits `physical`, a node with physical inputs. Its result is the value of `node` in `order`.
void LayoutAssigner::finish(const XnnNode& node, const Order& order, XnnNode physical) {
  const XnnValue& result = logical_.values[node.output];
  forms_.define(node.output, order,
                forms_.emit_node(std::move(physical), permuted(result.sizes, order), result));
}

void LayoutAssigner::assign_elementwise(const XnnNode& node) {
  const Order order = choose_order(node);
  XnnNode physical = node;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    physical.inputs[i] = forms_.get_widened(node.inputs[i], rank(node.output), order, node);
  }
  finish(node, order, std::move(physical));
}

void LayoutAssigner::assign_window(const XnnNode& node) {
  XnnNode physical = node;
  physical.inputs[0] = get(node, 0, nhwc());
  if (node.quantizes_input) {
    physical.inputs[0] =
        quantized_input(physical, is_pointwise(node) ? Readers::Pointwise : Readers::Windows);
  }
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != no_value) physical.inputs[i] = forms_.packed(node.inputs[i]);
  }
  finish(node, nhwc(), std::move(physical));
}

// Returns the first input in integers, with dynamic scales per row or image, for products of this kind only.
ValueId LayoutAssigner::quantized_input(const XnnNode& physical, Readers readers) {
  const ValueId input = physical.inputs[0];
  auto [found, is_new] = quantized_inputs_.try_emplace({input, readers}, no_value);
  if (is_new) {
    XnnNode convert;
    convert.kind = NodeKind::Convert;
    convert.inputs = {input};
    convert.handles = physical.handles;
    XnnValue type;
    type.dtype = ScalarType::I8;
    type.quantization = TokenScales{readers == Readers::Rows ? 1U : 3U};
    found->second = forms_.emit_node(std::move(convert), Dims(physical_.values[input].sizes), type);
  }
  return found->second;
}

// Leading dimensions count as one batch, in any order.
void LayoutAssigner::assign_fully_connected(const XnnNode& node) {
  XnnNode input_only = node;
  input_only.inputs.resize(1);
  const std::size_t last = rank(node.output) - 1;
  const Order order = choose_order(
      input_only, [&](const Order& candidate) { return candidate.back() == last; }, identity_order(last + 1));
  XnnNode physical = node;
  physical.inputs[0] = get(node, 0, order);
  if (node.quantizes_input) physical.inputs[0] = quantized_input(physical, Readers::Rows);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (input == no_value) continue;
    physical.inputs[i] =
        forms_.constant(input) ? forms_.packed(input) : get(node, i, identity_order(rank(input)));
  }
  finish(node, order, std::move(physical));
}

void LayoutAssigner::assign_matrix_multiply(const XnnNode& node) {
  const ValueId right = node.inputs[1];
  const Order straight = identity_order(rank(right));
  Order turned = straight;
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  const double straight_cost = forms_.cost(right, straight);
  const double turned_cost = forms_.cost(right, turned);
  const bool is_turned =
      turned_cost < straight_cost || (turned_cost == straight_cost && preferred_[right] == turned);
  XnnNode physical = node;
  physical.inputs[0] = get(node, 0, identity_order(rank(node.inputs[0])));
  physical.inputs[1] = get(node, 1, is_turned ? turned : straight);
  if (is_turned) physical.flags |= transpose_weights;
  finish(node, identity_order(rank(node.output)), std::move(physical));
}

void LayoutAssigner::assign_softmax(const XnnNode& node) {
  const auto dim = static_cast<std::uint8_t>(node.get<Axis>().dim);
  Order fallback;
  for (std::uint8_t other : identity_order(rank(node.output))) {
    if (other != dim) fallback.push_back(other);
  }
  fallback.push_back(dim);
  const Order order =
      choose_order(node, [&](const Order& candidate) { return candidate.back() == dim; }, fallback);
  XnnNode physical = node;
  physical.inputs[0] = get(node, 0, order);
  finish(node, order, std::move(physical));
}

void LayoutAssigner::assign_mean(const XnnNode& node) {
  if (!node.get<Axes>().stay) {
    const Order order = preferred_[node.output].value_or(identity_order(rank(node.output)));
    XnnNode physical = node;
    physical.inputs[0] = get(node, 0, dropping_order(order, node.get<Axes>()));
    finish(node, order, std::move(physical));
    return;
  }
  const Order fallback = mean_order(rank(node.output), node.get<Axes>());
  auto fits = [&](const Order& order) {
    auto is_averaged = [&](std::uint8_t dim) {
      return std::ranges::find(node.get<Axes>().dims, dim) != node.get<Axes>().dims.end();
    };
    return is_averaged(order[order.size() - 3]) && is_averaged(order[order.size() - 2]);
  };
  const Order order = choose_order(node, fits, fallback);
  XnnNode physical = node;
  physical.inputs[0] = get(node, 0, order);
  physical.flags |= keep_dims;
  finish(node, order, std::move(physical));
}

void LayoutAssigner::assign_reshape(const XnnNode& node) {
  struct Plan {
    Order before;
    Order after;
  };
  const ValueId input = node.inputs[0];
  const Dims& from = sizes(input);
  const Dims& to = sizes(node.output);
  const std::optional<Order>& preferred = preferred_[node.output];
  std::vector<Plan> plans;  // the first of the cheapest plans is taken
  for (const Order& order : forms_.orders(input)) {
    if (auto after = reshaped_order(from, to, order, preferred ? &*preferred : nullptr))
      plans.push_back({order, *after});
  }
  if (preferred) {
    // A reshape is free if the value is neither an input nor a result of the delegate.
    const auto place = logical_.values[input].is_input ? plans.begin() : plans.end();
    if (auto before = reshaped_order(to, from, *preferred)) plans.insert(place, {*before, *preferred});
  }
  plans.push_back({identity_order(from.size()), identity_order(to.size())});
  auto cost = [&](const Plan& plan) {
    const double mismatch = preferred && !same_elements(*preferred, plan.after, to) ? element_count(to) : 0;
    return forms_.cost(input, plan.before) + mismatch;
  };
  const Plan& best = *std::ranges::min_element(plans, {}, cost);
  const ValueId id = get(node, 0, best.before);
  forms_.define(node.output, best.after, forms_.reshape(id, permuted(to, best.after), node));
}

void LayoutAssigner::assign_slice(const XnnNode& node) {
  const Order order = choose_order(node);
  const auto& range = node.get<SliceRange>();
  SliceRange moved;
  for (std::uint8_t dim : order) {
    moved.offsets.push_back(range.offsets[dim]);
    moved.sizes.push_back(range.sizes[dim]);
  }
  XnnNode physical = node;
  physical.inputs[0] = get(node, 0, order);
  physical.params = std::move(moved);
  finish(node, order, std::move(physical));
}

void LayoutAssigner::assign_pad(const XnnNode& node) {
  const Order order = choose_order(node);
  const auto& pad = node.get<PadWidths>();
  PadWidths moved{.before = {}, .after = {}, .value = pad.value};
  for (std::uint8_t dim : order) {
    moved.before.push_back(pad.before[dim]);
    moved.after.push_back(pad.after[dim]);
  }
  XnnNode physical = node;
  physical.inputs[0] = get(node, 0, order);
  physical.params = std::move(moved);
  finish(node, order, std::move(physical));
}

// Concatenates up to five inputs at a time, level by level, so that each element is copied O(log n) times.
void LayoutAssigner::assign_concat(const XnnNode& node) {
  const Order order = choose_order(node);
  const Axis axis{inverse(order)[node.get<Axis>().dim]};
  std::vector<ValueId> parts;
  parts.reserve(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) parts.push_back(get(node, i, order));
  while (parts.size() > 1) {
    const std::size_t groups = (parts.size() + max_concat_inputs - 1) / max_concat_inputs;
    std::vector<ValueId> joined;
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t begin = g * parts.size() / groups;
      const std::size_t count = (g + 1) * parts.size() / groups - begin;
      if (count == 1) {
        joined.push_back(parts[begin]);
        continue;
      }
      static constexpr NodeKind kinds[] = {NodeKind::Concat2, NodeKind::Concat3, NodeKind::Concat4,
                                           NodeKind::Concat5};
      XnnNode concat;
      concat.kind = kinds[count - 2];
      concat.handles = node.handles;
      concat.params = axis;
      Dims result = physical_.values[parts[begin]].sizes;
      result[axis.dim] = 0;
      for (std::size_t i = begin; i < begin + count; ++i) {
        concat.inputs.push_back(parts[i]);
        result[axis.dim] = result[axis.dim] + physical_.values[parts[i]].sizes[axis.dim];
      }
      joined.push_back(forms_.emit_node(std::move(concat), result, logical_.values[node.output]));
    }
    parts = std::move(joined);
  }
  forms_.define(node.output, order, parts[0]);
}

// Broadcasts by multiplying with ones where the input is repeated; XNNPACK has no other broadcast.
void LayoutAssigner::assign_expand(const XnnNode& node) {
  const Dims& from = sizes(node.inputs[0]);
  const Dims& to = sizes(node.output);
  const std::size_t missing = to.size() - from.size();
  Dims ones;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const bool is_repeated = i < missing || !(from[i - missing] == to[i]);
    ones.push_back(is_repeated ? to[i] : SymInt(1));
  }
  const Order order = choose_order(node);
  const Constant factor = filled(logical_.values[node.output].dtype, ones, 1);
  XnnNode physical = node;
  physical.kind = NodeKind::Multiply;
  physical.inputs[0] = forms_.get_widened(node.inputs[0], to.size(), order, node);
  physical.inputs.push_back(forms_.add_constant(permuted(factor, order)));
  finish(node, order, std::move(physical));
}

// Applies a factor and a summand per index of dimension 1; with rank 4, as a 1x1 depthwise convolution.
void LayoutAssigner::assign_affine(const XnnNode& node) {
  const Constant& scale = *forms_.constant(node.inputs[1]);
  const Constant& shift = *forms_.constant(node.inputs[2]);
  const SymInt channels = scale.sizes()[0];
  const std::size_t result_rank = rank(node.output);
  XnnNode physical = node;
  if (result_rank == 4) {
    Window window;
    window.groups = static_cast<std::uint32_t>(channels.value());
    window.group_input_channels = 1;
    window.group_output_channels = 1;
    physical.kind = NodeKind::DepthwiseConv2d;
    physical.params = window;
    physical.inputs[0] = get(node, 0, nhwc());
    physical.inputs[1] = physical_.add_constant(reshaped(scale, {1, 1, 1, channels}));
    physical.inputs[2] = physical_.add_constant(shift);
    finish(node, nhwc(), std::move(physical));
    return;
  }
  XnnNode input_only = node;
  input_only.inputs.resize(1);
  const Order order = choose_order(input_only);
  Dims wide(result_rank, SymInt(1));
  wide[1] = channels;
  XnnNode product;
  product.handles = node.handles;
  const ValueId scaled_id = forms_.emit(
      NodeKind::Multiply, {get(node, 0, order), forms_.add_constant(permuted(reshaped(scale, wide), order))},
      permuted(sizes(node.output), order), product);
  physical.kind = NodeKind::Add;
  physical.inputs = {scaled_id, forms_.add_constant(permuted(reshaped(shift, wide), order))};
  finish(node, order, std::move(physical));
}

void LayoutAssigner::assign(const XnnNode& node) {
  using enum NodeKind;
  if (is_unary(node.kind) || is_binary(node.kind)) return assign_elementwise(node);
  switch (node.kind) {
    case Conv2d:
    case DepthwiseConv2d:
    case ConvTranspose2d:
    case AvgPooling2d:
    case MaxPooling2d:
    case ResizeBilinear:
      return assign_window(node);
    case FullyConnected:
      return assign_fully_connected(node);
    case BatchMatrixMultiply:
      return assign_matrix_multiply(node);
    case Softmax:
      return assign_softmax(node);
    case GlobalAvgPooling2d:
      return assign_mean(node);
    case Transpose:
      return forms_.define_permuted(node.output, node.inputs[0], node.get<Order>());
    case Reshape:
      return assign_reshape(node);
    case Slice:
      return assign_slice(node);
    case ConstantPad:
      return assign_pad(node);
    case Concat:
      return assign_concat(node);
    case Expand:
      return assign_expand(node);
    case ChannelAffine:
      return assign_affine(node);
    default:
      CHECK(false) << "node kind " << static_cast<int>(node.kind);
  }
}

// Results are row-major. An input, a constant, or an earlier result that is returned again is copied.
void LayoutAssigner::assign_outputs() {
  const GraphUses uses = find_uses(logical_);
  std::uint32_t external_id = logical_.first_output_id;
  for (ValueId output : logical_.outputs) {
    XnnNode like;
    if (uses.producer[output] != no_value) like.handles = logical_.nodes[uses.producer[output]].handles;
    ValueId id = forms_.get(output, identity_order(rank(output)), like);
    const XnnValue& value = physical_.values[id];
    if (value.external_id != no_value || value.constant) {
      id = forms_.emit(NodeKind::Copy, {id}, Dims(value.sizes), like);
    }
    physical_.values[id].is_output = true;
    physical_.values[id].external_id = external_id++;
  }
}

XnnGraph LayoutAssigner::run() {
  physical_.ranges = logical_.ranges;
  for (const XnnNode& node : logical_.nodes) assign(node);
  assign_outputs();
  remove_unused(physical_);  // of several reshapes in a row only the last is needed
  return std::move(physical_);
}

}  // namespace

Order mean_order(std::size_t rank, const Axes& axes) {
  Order order;
  for (std::uint8_t dim : identity_order(rank)) {
    if (std::ranges::find(axes.dims, dim) == axes.dims.end()) order.push_back(dim);
  }
  for (std::uint32_t dim : axes.dims) order.insert(order.end() - 1, static_cast<std::uint8_t>(dim));
  return order;
}

Order dropping_order(const Order& order, const Axes& axes) {
  Order kept;  // by dimension of the result: the input's dimension
  for (std::uint8_t dim : identity_order(order.size() + axes.dims.size())) {
    if (std::ranges::find(axes.dims, dim) == axes.dims.end()) kept.push_back(dim);
  }
  Order before = compose(kept, order);
  for (std::uint32_t dim : axes.dims) before.insert(before.end() - 1, static_cast<std::uint8_t>(dim));
  return before;
}

XnnGraph assign_layouts(const XnnGraph& logical) {
  return LayoutAssigner(logical).run();
}

}  // namespace depute::xnnpack
