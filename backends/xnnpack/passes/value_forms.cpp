#include "passes/value_forms.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/check.h"

namespace depute::xnnpack {
namespace {

constexpr double infinite_cost = std::numeric_limits<double>::infinity();
constexpr double symbolic_size_guess = 64;
constexpr double reshape_cost = 0.5;  // more than 0, less than any transpose

// The order of the trailing dimensions, without the `missing` leading ones.
Order trailing_order(const Order& order, std::size_t missing) {
  Order result;
  for (std::uint8_t dim : order) {
    if (dim >= missing) result.push_back(static_cast<std::uint8_t>(dim - missing));
  }
  return result;
}

bool leads(const Order& order, std::size_t missing) {
  return std::all_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(missing),
                     [&](std::uint8_t dim) { return dim < missing; });
}

bool all_units(const Dims& sizes) {
  return std::ranges::all_of(sizes, [](const SymInt& size) { return size == 1; });
}

// Sizes in `order` of a tensor with `missing` additional leading dimensions of size 1.
Dims widened_sizes(const Dims& sizes, std::size_t missing, const Order& order) {
  Dims result;
  for (std::uint8_t dim : order) result.push_back(dim < missing ? SymInt(1) : sizes[dim - missing]);
  return result;
}

std::string sizes_key(const Constant& constant) {
  std::string key = constant.key();
  for (const SymInt& size : constant.sizes()) key += "," + size.str();
  return key;
}

}  // namespace

bool can_reshape_to(const Dims& sizes) {
  return std::ranges::count_if(sizes, [](const SymInt& size) { return !size.is_constant(); }) <= 1;
}

double element_count(const Dims& sizes) {
  double count = 1;
  for (const SymInt& size : sizes) {
    count *= size.is_constant() ? static_cast<double>(size.value()) : symbolic_size_guess;
  }
  return count;
}

ValueForms::ValueForms(const XnnGraph& logical, XnnGraph& physical)
    : logical_(logical), physical_(physical), views_(logical.values.size()) {
  physical_.values.reserve(logical_.values.size());
  physical_.nodes.reserve(logical_.nodes.size());
  for (ValueId id = 0; id < logical.values.size(); ++id) {
    const XnnValue& value = logical.values[id];
    if (!value.is_input) continue;
    ValueId copy = physical_.add_value(value.dtype, permuted(value.sizes, value.input_order));
    physical_.values[copy].quantization = value.quantization;
    physical_.values[copy].is_input = true;
    physical_.values[copy].external_id = value.external_id;
    define(id, value.input_order, copy);
  }
}

void ValueForms::define(ValueId value, const Order& order, ValueId id) {
  views_[value] = {static_cast<std::uint32_t>(families_.size()), identity_order(rank(value))};
  families_.push_back({{{order, id}}});
}

void ValueForms::define_permuted(ValueId value, ValueId source, const Order& perm) {
  views_[value] = {views_[source].family, compose(views_[source].names, perm)};
}

std::vector<Order> ValueForms::orders(ValueId value) const {
  std::vector<Order> result;
  if (constant(value)) return result;
  const View& view = views_[value];
  const Order own_names = inverse(view.names);
  for (const Form& form : families_[view.family].forms) result.push_back(compose(own_names, form.order));
  return result;
}

const ValueForms::Form* ValueForms::find_form(const View& view, const Order& order) const {
  const Order wanted = compose(view.names, order);
  const std::vector<Form>& forms = families_[view.family].forms;
  auto found = std::ranges::find(forms, wanted, &Form::order);
  return found == forms.end() ? nullptr : &*found;
}

bool ValueForms::is_reshape(ValueId value, const Order& from, const Order& to) const {
  return same_elements(from, to, sizes(value)) && can_reshape_to(sizes(value));
}

double ValueForms::cost(ValueId value, const Order& order) const {
  if (constant(value) || find_form(views_[value], order) != nullptr) return 0;
  for (const Order& existing : orders(value)) {
    if (is_reshape(value, existing, order)) return reshape_cost;
  }
  return element_count(sizes(value));
}

ValueId ValueForms::get(ValueId value, const Order& order, const XnnNode& node) {
  if (constant(value))
    return add_constant(permuted(*constant(value), order), logical_.values[value].quantization);
  const View view = views_[value];
  if (const Form* form = find_form(view, order)) return form->id;
  std::vector<Order> existing = orders(value);
  std::size_t source = 0;
  bool moves_elements = true;
  for (std::size_t i = 0; i < existing.size() && moves_elements; ++i) {
    if (!is_reshape(value, existing[i], order)) continue;
    source = i;
    moves_elements = false;
  }
  const ValueId from = families_[view.family].forms[source].id;
  const Dims target = permuted(sizes(value), order);
  XnnNode like;
  like.handles = node.handles;
  ValueId id = no_value;
  if (moves_elements) {
    id = emit(NodeKind::Transpose, {from}, target, like, compose(inverse(existing[source]), order));
  } else {
    id = reshape(from, target, like);
  }
  families_[view.family].forms.push_back({compose(view.names, order), id});
  return id;
}

double ValueForms::cost_widened(ValueId value, std::size_t wide_rank, const Order& order) const {
  const std::size_t missing = wide_rank - rank(value);
  if (constant(value) || missing == wide_rank || all_units(sizes(value))) return 0;
  const Order own = trailing_order(order, missing);
  if (missing == 0 || leads(order, missing)) return cost(value, own);
  return can_reshape_to(sizes(value)) ? cost(value, own) + reshape_cost : infinite_cost;
}

ValueId ValueForms::get_widened(ValueId value, std::size_t wide_rank, const Order& order,
                                const XnnNode& node) {
  const std::size_t missing = wide_rank - rank(value);
  if (missing == wide_rank || all_units(sizes(value))) return get(value, identity_order(rank(value)), node);
  if (constant(value)) {
    const Dims wide = widened_sizes(sizes(value), missing, identity_order(wide_rank));
    return add_constant(permuted(reshaped(*constant(value), wide), order),
                        logical_.values[value].quantization);
  }
  ValueId id = get(value, trailing_order(order, missing), node);
  if (missing == 0 || leads(order, missing)) return id;
  XnnNode like;
  like.handles = node.handles;
  return reshape(id, widened_sizes(sizes(value), missing, order), like);
}

ValueId ValueForms::packed(ValueId value) {
  CHECK(constant(value).has_value());
  auto [found, is_new] = packed_.try_emplace(value, no_value);
  if (is_new) {
    physical_.values.push_back(logical_.values[value]);
    found->second = static_cast<ValueId>(physical_.values.size() - 1);
  }
  return found->second;
}

ValueId ValueForms::add_constant(const Constant& constant, const Quantization& quantization) {
  std::string key = sizes_key(constant);
  if (const auto* of_tensor = std::get_if<TensorScale>(&quantization))
    key += fmt::format(" {} {}", of_tensor->scale, of_tensor->zero_point);
  auto [found, is_new] = constants_.try_emplace(std::move(key), no_value);
  if (is_new) {
    found->second = physical_.add_constant(constant);
    physical_.values[found->second].quantization = quantization;
  }
  return found->second;
}

ValueId ValueForms::reshape(ValueId id, const Dims& target, const XnnNode& node) {
  if (auto source = reshape_source_.find(id); source != reshape_source_.end()) id = source->second;
  if (physical_.values[id].sizes == target) return id;
  ValueId result = emit(NodeKind::Reshape, {id}, target, node);
  reshape_source_[result] = id;
  return result;
}

ValueId ValueForms::emit(NodeKind kind, std::initializer_list<ValueId> inputs, const Dims& result_sizes,
                         const XnnNode& like, NodeParams params) {
  XnnNode node = like;
  node.kind = kind;
  node.inputs.assign(inputs.begin(), inputs.end());
  node.params = std::move(params);
  node.output = physical_.add_value_like(*inputs.begin(), result_sizes);
  physical_.nodes.push_back(std::move(node));
  return physical_.nodes.back().output;
}

ValueId ValueForms::emit_node(XnnNode node, const Dims& result_sizes, const XnnValue& type) {
  node.output = physical_.add_value(type.dtype, result_sizes);
  physical_.values[node.output].quantization = type.quantization;
  physical_.nodes.push_back(std::move(node));
  return physical_.nodes.back().output;
}

}  // namespace depute::xnnpack
