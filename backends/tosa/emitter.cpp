#include "emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "depute/program/data.h"
#include "ir/small_float.h"
#include "lower/weights/order.h"
#include "support/check.h"

namespace depute::tosa {
namespace {

using weights::compose;
using weights::identity_order;
using weights::inverse;
using weights::is_identity;

template <typename T>
TensorData filled_with(ScalarType dtype, double value) {
  return make_data<T>(dtype, Dims{}, {static_cast<T>(value)});
}

// Returns a constant without dimensions.
TensorData scalar(DType dtype, double value) {
  switch (dtype) {
    case DType::Bool:
      return filled_with<std::uint8_t>(ScalarType::Bool, value != 0 ? 1 : 0);
    case DType::I8:
      return filled_with<std::int8_t>(ScalarType::I8, value);
    case DType::I16:
      return filled_with<std::int16_t>(ScalarType::I16, value);
    case DType::I32:
      return filled_with<std::int32_t>(ScalarType::I32, value);
    case DType::I64:
      return filled_with<std::int64_t>(ScalarType::I64, value);
    case DType::F16:
      return make_data<std::uint16_t>(ScalarType::F16, Dims{}, {float_to_half(static_cast<float>(value))});
    case DType::BF16:
      return make_data<std::uint16_t>(ScalarType::BF16, Dims{},
                                      {encode_small_float(ScalarType::BF16, value)});
    default:
      return filled_with<float>(ScalarType::F32, value);
  }
}

// Returns false for a number that an integer type does not have.
bool is_integer(DType dtype, double value) {
  if (is_float(dtype) || dtype == DType::Bool) return true;
  if (dtype == DType::I64)  // larger ones may be others, rounded to a double
    return value == std::trunc(value) && std::abs(value) < std::ldexp(1, std::numeric_limits<double>::digits);
  const double limit = std::ldexp(1, static_cast<int>(bit_count(dtype)) - 1);
  return value == std::trunc(value) && value >= -limit && value < limit;
}

// Returns i32 numbers from those of i64, or nullopt if one does not fit.
std::optional<TensorData> narrowed(const TensorData& data) {
  const std::shared_ptr<const Storage> storage = dense_bytes(data);
  const std::vector<std::byte> made = storage->is_lazy() ? storage->produce() : std::vector<std::byte>();
  const std::span<const std::byte> bytes =
      storage->is_lazy() ? std::span<const std::byte>(made) : storage->bytes();
  std::vector<std::int32_t> numbers(bytes.size() / sizeof(std::int64_t));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::int64_t number = 0;
    std::copy_n(bytes.data() + i * sizeof number, sizeof number, reinterpret_cast<std::byte*>(&number));
    if (number != static_cast<std::int32_t>(number)) return std::nullopt;
    numbers[i] = static_cast<std::int32_t>(number);
  }
  return make_data<std::int32_t>(ScalarType::I32, data.type.sizes, std::span<const std::int32_t>(numbers));
}

// Elements from `start` on along a dimension, as they lie in memory.
Constant sliced(const Constant& constant, std::size_t dim, std::int64_t start, std::int64_t size) {
  const Dims sizes = constant.sizes();
  Dims target = sizes;
  target[dim] = size;
  std::size_t rows = 1;  // in front of the dimension
  for (std::size_t i = 0; i < dim; ++i) rows *= static_cast<std::size_t>(sizes[i].value());
  const auto of = static_cast<std::size_t>(sizes[dim].value());
  const auto cut = [=](std::span<weights::Bytes> inputs) {
    const std::span<const std::byte> bytes = inputs[0].view();
    const std::size_t row = bytes.size() / rows;
    std::vector<std::byte> result;
    for (std::size_t i = 0; i < rows; ++i) {
      const auto part = bytes.subspan(i * row + static_cast<std::size_t>(start) * (row / of),
                                      static_cast<std::size_t>(size) * (row / of));
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  };
  return weights::converted(fmt::format("slice{}:{}+{}", dim, start, size), {constant}, constant.dtype(),
                            target, cut);
}

Shape permuted(const Shape& shape, const Order& order) {
  Shape result;
  for (const std::uint8_t dim : order) result.push_back(shape[dim]);
  return result;
}

std::vector<std::int32_t> narrow(const Order& order) {
  return {order.begin(), order.end()};
}

// Puts sizes of 1 before the others.
Shape with_rank(const Shape& shape, std::size_t rank) {
  Shape result(rank - shape.size(), 1);
  for (const std::int64_t size : shape) result.push_back(size);
  return result;
}

}  // namespace

std::size_t dimension_at(std::int64_t dim, std::size_t rank) {
  return static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(std::max<std::size_t>(rank, 1))
                                          : dim);
}

std::size_t dimension(const OpCall& call, std::string_view name, std::size_t rank) {
  return dimension_at(call.integer(name), rank);
}

Shape shape_of(const TensorType& type) {
  Shape shape;
  for (const SymInt& size : type.sizes) shape.push_back(size.value());
  return shape;
}

Dims dims_of(const Shape& shape) {
  Dims dims;
  for (const std::int64_t size : shape) dims.push_back(size);
  return dims;
}

Shape broadcast(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result = with_rank(a, rank);
  const Shape other = with_rank(b, rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (result[i] == 1) result[i] = other[i];
  }
  return result;
}

void Emitter::begin(const Node& node) {
  node_ = &node;
  made_ = 0;
}

Tensor Emitter::add_argument(const Value& value, DType dtype) {
  const Shape shape = shape_of(value.tensor());
  const auto id = static_cast<TensorId>(graph_.tensors.size());
  graph_.tensors.push_back({.dtype = dtype,
                            .shape = shape,
                            .name = std::string(value.name().str()),
                            .constant = {},
                            .numbers = {}});
  graph_.inputs.push_back(id);
  return {.id = id, .dtype = dtype, .shape = shape, .order = identity_order(shape.size())};
}

Check Emitter::argument(const Value& value) {
  const auto dtype = dtype_of(value.tensor().dtype);
  // A refused tensor has its sizes, too, which rules read.
  values_[&value] = add_argument(value, dtype.value_or(DType::F32));
  return dtype ? Check() : refused_type(value.tensor().dtype);
}

Refusal Emitter::refused_type(ScalarType type) const {
  return {"dtype", std::string(depute::name(type)), std::string(known_types(device_.version))};
}

// Another tensor with the same elements. Arm's converter makes one of a tensor and of what leaves its elements alone, such
// as IDENTITY, and then writes only one of two results. It does not look through these. The profile of floats has no REVERSE
// of integers.
Tensor Emitter::twice(const Tensor& x) {
  if (!has(device_.profile, Op::Reverse, x.dtype, x.dtype)) {
    const Tensor zero = constant_number(0, x.dtype);
    return add(Op::LogicalLeftShift, {add(Op::LogicalLeftShift, {x, zero}), zero});
  }
  const Shape& shape = graph_.tensors[x.id].shape;
  const auto wide = std::ranges::find_if(shape, [](std::int64_t size) { return size > 1; });
  if (wide != shape.end()) {
    const Axis axis{static_cast<std::int32_t>(wide - shape.begin())};
    const Tensor back = raw(Op::Reverse, {x}, x.dtype, x.shape, axis);
    return raw(Op::Reverse, {back}, x.dtype, x.shape, axis);
  }
  if (takes(Op::Maximum, x.dtype, device_.version)) return raw(Op::Maximum, {x, x}, x.dtype, x.shape);
  const Tensor one = raw(Op::Reshape, {x, this->shape({1})}, x.dtype, {1});
  const Tensor two = raw(Op::Tile, {one, this->shape({2})}, x.dtype, {2});
  const Tensor last = raw(Op::Slice, {two, this->shape({1}), this->shape({1})}, x.dtype, {1});
  return raw(Op::Reshape, {last, this->shape({x.shape.data(), x.shape.size()})}, x.dtype, x.shape);
}

// Returns true if the tensor may have the elements of an earlier result in their order, by operators that change nothing: a
// sum with zeros, a clamp to all numbers.
bool Emitter::may_be_result(const Tensor& x) const {
  constexpr std::array may_change_nothing = {
      Op::Add,     Op::Sub,  Op::Mul,    Op::Clamp, Op::Cast, Op::Reshape, Op::Slice,  Op::Transpose,
      Op::Maximum, Op::Tile, Op::Concat, Op::Pad,   Op::Pow,  Op::Minimum, Op::Select, Op::Identity};
  TensorId id = x.id;
  for (auto made = makers_.find(id); made != makers_.end(); made = makers_.find(id)) {
    const TosaOp& op = graph_.ops[made->second];
    if (std::ranges::find(may_change_nothing, op.op) == may_change_nothing.end()) return false;
    std::optional<TensorId> varying;
    for (const TensorId input : op.inputs) {
      const TosaTensor& tensor = graph_.tensors[input];
      if (tensor.constant || tensor.dtype == DType::Shape || input == varying) continue;
      if (varying) return false;
      varying = input;
    }
    if (!varying) return false;
    id = *varying;
    const TosaTensor& from = graph_.tensors[id];
    if (std::ranges::find(graph_.outputs, id) != graph_.outputs.end() && from.dtype == x.dtype &&
        from.shape == graph_.tensors[x.id].shape)
      return true;
  }
  return false;
}

void Emitter::add_result(const Tensor& x) {
  const Tensor result = in_rows(x);
  const bool is_input = std::ranges::find(graph_.inputs, result.id) != graph_.inputs.end();
  const bool is_known = std::ranges::find(graph_.outputs, result.id) != graph_.outputs.end();
  graph_.outputs.push_back(is_known || may_be_result(result) ? twice(result).id
                           : is_input || is_constant(result)
                               ? raw(Op::Identity, {result}, result.dtype, result.shape).id
                               : result.id);
}

TosaGraph Emitter::finish() {
  graph_.version = device_.version;
  fold_pads(graph_);
  remove_unused(graph_);
  return std::move(graph_);
}

Tensor Emitter::input(const Value& value) {
  if (mode_ && value.tensor().dtype == ScalarType::F32) return integer_input(value);
  const auto found = values_.find(&value);
  if (found != values_.end()) return found->second;
  if (const auto known = integers_.find(&value); known != integers_.end())
    return values_[&value] = dequantized(Integers(known->second));
  if (const auto later = deferred_.find(&value); later != deferred_.end())
    return values_[&value] = dequantized(OpCall(*later->second));
  const TensorData* data = constant_data_of(value);
  if (data == nullptr) {
    if (const Check refusal = argument(value); refusal && !refusal_) refusal_ = refusal;
    return values_[&value];
  }
  const bool is_narrowed = data->type.dtype == ScalarType::I64 && !dtype_of(ScalarType::I64);
  return values_[&value] = is_narrowed ? add_narrowed(value, *data) : add_constant(value, *data);
}

Tensor Emitter::add_constant(const Value& value, const TensorData& data) {
  const std::string_view name = source_of(value).name().str();
  return constant(weights::constant_of(name, data), name);
}

// Numbers of i64 as such of i32.
Tensor Emitter::add_narrowed(const Value& value, const TensorData& data) {
  const auto numbers = narrowed(data);
  if (!numbers && !refusal_) refusal_ = Refusal{"dtype", "i64", "numbers of i32"};
  return add_constant(value, numbers.value_or(data));
}

Tensor Emitter::places(const Value& value) {
  if (value.tensor().dtype != ScalarType::I64) return input(value);
  const TensorData* data = constant_data_of(value);
  if (dtype_of(ScalarType::I64))
    return data == nullptr ? cast(input(value), DType::I32) : add_narrowed(value, *data);
  if (data != nullptr || values_.contains(&value)) return input(value);
  return values_[&value] = add_argument(value, DType::I32);
}

Tensor Emitter::operand(const OpCall& call, std::string_view name, DType dtype) {
  const Value* value = call.value(name);
  return value == nullptr ? number(call[name].as_double(), dtype) : input(*value);
}

Tensor Emitter::number(double value, DType dtype) {
  if (mode_ && dtype == mode_->dtype())
    return constant_number(quantized(static_cast<float>(value), *mode_), dtype);
  return constant_number(value, dtype);
}

Tensor Emitter::constant_number(double value, DType dtype) {
  if (!is_integer(dtype, value)) {
    if (!refusal_)
      refusal_ = Refusal{"argument", fmt::format("{}", value), fmt::format("numbers of {}", name(dtype))};
    value = 0;
  }
  const auto [entry, is_new] = numbers_.try_emplace({dtype, std::bit_cast<std::uint64_t>(value)});
  if (is_new) entry->second = constant(weights::constant_of("", scalar(dtype, value)));
  return entry->second;
}

Tensor Emitter::constant(Constant constant, std::string_view name) {
  const auto dtype = dtype_of(constant.dtype());
  if (!dtype && !refusal_) refusal_ = refused_type(constant.dtype());
  Shape shape;
  for (const SymInt& size : constant.sizes()) shape.push_back(size.value());
  const auto id = static_cast<TensorId>(graph_.tensors.size());
  graph_.tensors.push_back({.dtype = dtype.value_or(DType::F32),
                            .shape = shape,
                            .name = std::string(name),
                            .constant = std::move(constant),
                            .numbers = {}});
  return {
      .id = id, .dtype = dtype.value_or(DType::F32), .shape = shape, .order = identity_order(shape.size())};
}

Tensor Emitter::constant_i48(Constant bytes) {
  Tensor made = constant(std::move(bytes));
  TosaTensor& tensor = graph_.tensors[made.id];
  tensor.dtype = made.dtype = DType::I48;
  tensor.shape = made.shape = {made.shape[0]};
  made.order = identity_order(1);
  return made;
}

Tensor Emitter::shape(std::span<const std::int64_t> numbers) {
  const auto [entry, is_new] = shapes_.try_emplace({numbers.begin(), numbers.end()});
  if (is_new) {
    const auto id = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(
        {.dtype = DType::Shape, .shape = {}, .name = {}, .constant = {}, .numbers = entry->first});
    entry->second = {.id = id, .dtype = DType::Shape, .shape = {}, .order = {}};
  }
  return entry->second;
}

TensorId Emitter::new_tensor(DType dtype, const Shape& shape) {
  const auto id = static_cast<TensorId>(graph_.tensors.size());
  const std::string_view node = node_ == nullptr ? "result" : node_->display_name();
  std::string name = made_ == 0 ? std::string(node) : fmt::format("{}.{}", node, made_);
  ++made_;
  graph_.tensors.push_back(
      {.dtype = dtype, .shape = shape, .name = std::move(name), .constant = {}, .numbers = {}});
  return id;
}

TosaOp Emitter::new_op(Op op, std::span<const Tensor> operands, Attributes attributes) const {
  TosaOp made;
  made.op = op;
  for (const Tensor& operand : operands) made.inputs.push_back(operand.id);
  made.attributes = std::move(attributes);
  if (node_ == nullptr) return made;
  for_each_origin(*node_, [&](const NodeOrigin& origin) {
    if (origin.debug_handle != 0) made.handles.push_back(origin.debug_handle);
  });
  std::ranges::sort(made.handles);
  return made;
}

Tensor Emitter::raw(Op op, std::span<const Tensor> operands, DType dtype, Shape shape,
                    Attributes attributes) {
  const DType computed = operands[op == Op::Select ? 1 : 0].dtype;
  if (!refusal_ && !takes(op, computed, device_.version))
    refusal_ = Refusal{"dtype", std::string(name(computed)), fmt::format("the types of {}", name(op))};
  if (!refusal_ && !has(device_.profile, op, computed, dtype))
    refusal_ = Refusal{"profile", fmt::format("{} of {}", name(op), name(is_float(dtype) ? dtype : computed)),
                       fmt::format("operators of the profile {}", name(device_.profile))};
  if (!refusal_ && shape.size() > max_rank)
    refusal_ = Refusal{"rank", std::to_string(shape.size()), fmt::format("at most {}", max_rank)};
  TosaOp made = new_op(op, operands, std::move(attributes));
  made.output = new_tensor(dtype, shape);
  if (!refusal_ && device_.limit != nullptr) refusal_ = device_.limit(graph_, made);
  makers_[made.output] = graph_.ops.size();
  graph_.ops.push_back(std::move(made));
  return {
      .id = graph_.ops.back().output, .dtype = dtype, .shape = shape, .order = identity_order(shape.size())};
}

std::unique_ptr<Emitter> Emitter::for_body(const Graph& body) const {
  auto made = std::make_unique<Emitter>(program_, method_, device_, Scope::Method, facts_);
  made->graph_.name = fmt::format("@{}", body.name().str());
  return made;
}

void Emitter::bind(Emitter& body, const Value& input, const Value& value) const {
  body.bound_[&input] = &source_of(value);
}

void Emitter::integer_argument(const Value& value, const Quantization& quantization) {
  integers_[&value] = {add_argument(value, quantization.dtype()), quantization};
}

const Value& Emitter::source_of(const Value& value) const {
  const auto found = bound_.find(&value);
  return found == bound_.end() ? value : *found->second;
}

std::vector<Tensor> Emitter::run(Op op, std::span<const Tensor> operands, std::vector<TosaGraph> bodies) {
  TosaOp made = new_op(op, operands, Bodies{bodies.front().name, bodies.back().name});
  std::vector<Tensor> results;
  bool has_floats =
      std::ranges::any_of(operands, [](const Tensor& operand) { return is_float(operand.dtype); });
  for (const TensorId id : bodies.back().outputs) {
    const TosaTensor& given = bodies.back().tensors[id];
    results.push_back({.id = new_tensor(given.dtype, given.shape),
                       .dtype = given.dtype,
                       .shape = given.shape,
                       .order = identity_order(given.shape.size())});
    has_floats |= is_float(given.dtype);
  }
  const std::size_t given = operands.size() - (op == Op::CondIf ? 1 : 0);  // without the predicate
  const std::size_t count = std::max(given, results.size());
  if (!refusal_ && count > max_list)
    refusal_ = Refusal{"argument", fmt::format("{} operands or results of {}", count, name(op)),
                       fmt::format("at most {}", max_list)};
  if (!refusal_ && device_.profile == Profile::Integers && has_floats)
    refusal_ = Refusal{"profile", fmt::format("{} of floats", name(op)), "operators of the profile INT"};
  made.output = results.front().id;
  for (const Tensor& result : std::span(results).subspan(1)) made.more_outputs.push_back(result.id);
  graph_.ops.push_back(std::move(made));
  for (TosaGraph& body : bodies) {
    std::vector<TosaGraph> below = std::exchange(body.bodies, {});
    graph_.bodies.push_back(std::move(body));
    std::ranges::move(below, std::back_inserter(graph_.bodies));
  }
  return results;
}

const TosaOp* Emitter::maker(const Tensor& x, Op op) const {
  const auto found = makers_.find(x.id);
  return found != makers_.end() && graph_.ops[found->second].op == op ? &graph_.ops[found->second] : nullptr;
}

Tensor Emitter::as(const Tensor& x, const Order& order) const {
  Tensor result = x;
  for (std::size_t p = 0; p < order.size(); ++p) result.shape[order[p]] = x.shape[p];
  result.order = order;
  return result;
}

std::size_t Emitter::position(const Tensor& x, std::size_t dim) const {
  return inverse(x.order)[dim];
}

Tensor Emitter::in_rows(const Tensor& x) {
  return in_order(x, identity_order(x.rank()));
}

Tensor Emitter::in_order(const Tensor& x, const Order& order) {
  if (x.order == order) return x;
  const Order perm = compose(inverse(x.order), order);
  const auto [entry, is_new] = ordered_.try_emplace({x.id, {perm.begin(), perm.end()}});
  if (is_new) {
    const Shape shape = permuted(x.shape, order);
    if (is_constant(x)) {
      const TosaTensor from = graph_.tensors[x.id];
      entry->second = constant(weights::permuted(*from.constant, perm), from.name);
    } else if (weights::same_elements(x.order, order, dims_of(x.shape)) &&
               shape == graph_.tensors[x.id].shape) {
      entry->second = x;
    } else if (weights::same_elements(x.order, order, dims_of(x.shape))) {
      entry->second = with_sizes(x, shape);
    } else if (const auto moved = widened_in_order(x, order)) {
      entry->second = *moved;
    } else {
      entry->second = transposed(x, perm, shape);
    }
  }
  return {.id = entry->second.id, .dtype = x.dtype, .shape = x.shape, .order = order};
}

Tensor Emitter::transposed(const Tensor& x, const Order& perm, const Shape& shape) {
  if (perm.size() <= device_.moved_dims)
    return raw(Op::Transpose, {x}, x.dtype, shape, Permutation{narrow(perm)});
  const Shape from = graph_.tensors[x.id].shape;
  std::vector<std::size_t> firsts;  // of each group, in the order of the result
  Shape sizes;
  std::optional<std::size_t> last;  // the dimension before, of those that are not 1
  for (const std::size_t dim : perm) {
    if (from[dim] == 1) continue;
    const bool is_next =
        last && *last < dim &&
        std::all_of(
            from.begin() + static_cast<std::ptrdiff_t>(*last) + 1,
            from.begin() + static_cast<std::ptrdiff_t>(dim), [](auto size) { return size == 1; });
    last = dim;
    if (is_next) {
      sizes.back() *= from[dim];
    } else {
      firsts.push_back(dim);
      sizes.push_back(from[dim]);
    }
  }
  std::vector<std::int32_t> order;  // the place of each group among those of x
  for (const std::size_t first : firsts)
    order.push_back(
        static_cast<std::int32_t>(std::ranges::count_if(firsts, [&](auto other) { return other < first; })));
  Shape merged(sizes.size(), 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) merged[static_cast<std::size_t>(order[i])] = sizes[i];
  const Tensor rows = raw(Op::Reshape, {x, this->shape({merged.data(), merged.size()})}, x.dtype, merged);
  const Tensor moved = raw(Op::Transpose, {rows}, x.dtype, sizes, Permutation{std::move(order)});
  return raw(Op::Reshape, {moved, this->shape({shape.data(), shape.size()})}, x.dtype, shape);
}

// Moves the narrow integers that a RESCALE widens to x: they have fewer bytes, and the Ethos-U55 moves few tensors of i32.
// Returns nullopt if x is no such result.
std::optional<Tensor> Emitter::widened_in_order(const Tensor& x, const Order& order) {
  const TosaOp* reshaped = maker(x, Op::Reshape);
  const TosaOp* found = maker(reshaped == nullptr ? x : Tensor{.id = reshaped->inputs[0]}, Op::Rescale);
  if (found == nullptr || std::get<RescaleBy>(found->attributes).per_channel) return std::nullopt;
  const TosaOp widening = *found;
  const auto operand = [&](TensorId id) { return Tensor{.id = id, .dtype = graph_.tensors[id].dtype}; };
  Tensor narrow = operand(widening.inputs[0]);
  if (bit_count(narrow.dtype) >= bit_count(x.dtype)) return std::nullopt;
  const Shape shape = graph_.tensors[x.id].shape;
  if (reshaped != nullptr)
    narrow = raw(Op::Reshape, {narrow, this->shape({shape.data(), shape.size()})}, narrow.dtype, shape);
  narrow.shape = x.shape;
  narrow.order = x.order;
  std::vector<Tensor> operands = {in_order(narrow, order)};
  for (std::size_t i = 1; i < widening.inputs.size(); ++i) operands.push_back(operand(widening.inputs[i]));
  return raw(Op::Rescale, operands, x.dtype, permuted(x.shape, order), widening.attributes);
}

Tensor Emitter::reshape(const Tensor& x, const Shape& target) {
  if (x.shape == target) return x;
  if (is_constant(x)) {
    const Tensor rows = in_rows(x);
    const TosaTensor from = graph_.tensors[rows.id];
    return constant(weights::reshaped(*from.constant, dims_of(target)), from.name);
  }
  std::optional<Order> order = identity_order(target.size());
  if (!is_identity(x.order)) order = weights::reshaped_order(dims_of(x.shape), dims_of(target), x.order);
  const Tensor from = order ? x : in_rows(x);
  if (!order) order = identity_order(target.size());
  const Shape shape = permuted(target, *order);
  const Tensor made = with_sizes(from, shape);
  return {.id = made.id, .dtype = x.dtype, .shape = target, .order = *order};
}

// Reads the source of an earlier RESHAPE: of two in a row, only the second one is needed.
Tensor Emitter::with_sizes(const Tensor& x, const Shape& shape) {
  Tensor from = x;
  if (const TosaOp* op = maker(x, Op::Reshape)) from.id = op->inputs[0];
  if (graph_.tensors[from.id].shape == shape) return from;
  return raw(Op::Reshape, {from, this->shape({shape.data(), shape.size()})}, x.dtype, shape);
}

Tensor Emitter::permute(const Tensor& x, const Order& dims) {
  return {.id = x.id,
          .dtype = x.dtype,
          .shape = permuted(x.shape, dims),
          .order = compose(inverse(dims), x.order)};
}

Tensor Emitter::expand(const Tensor& x, const Shape& target) {
  const Tensor from = reshape(x, with_rank(x.shape, target.size()));
  Shape multiples;
  for (std::size_t i = 0; i < target.size(); ++i)
    multiples.push_back(from.shape[i] == target[i] ? 1 : target[i]);
  if (element_count(multiples) == 1) return from;
  multiples = permuted(multiples, from.order);
  return as(raw(Op::Tile, {from, shape({multiples.data(), multiples.size()})}, x.dtype,
                permuted(target, from.order)),
            from.order);
}

// A slice of a slice is one of the whole, and one of a constant is made here.
Tensor Emitter::slice(const Tensor& x, std::size_t dim, std::int64_t start, std::int64_t size) {
  if (x.shape[dim] == size) return x;
  Shape sizes = x.shape;
  sizes[dim] = size;
  sizes = permuted(sizes, x.order);
  if (is_constant(x)) {
    const Constant part = sliced(data(x), position(x, dim), start, size);
    return x.dtype == DType::I48 ? constant_i48(part) : as(constant(part), x.order);
  }
  Shape starts(sizes.size(), 0);
  Tensor source = x;
  if (const TosaOp* op = maker(x, Op::Slice)) {
    source.id = op->inputs[0];
    const std::vector<std::int64_t>& outer = graph_.tensors[op->inputs[1]].numbers;
    std::ranges::copy(outer, starts.begin());
  }
  starts[position(x, dim)] += start;
  const Tensor from = shape({starts.data(), starts.size()});
  return as(raw(Op::Slice, {source, from, shape({sizes.data(), sizes.size()})}, x.dtype, sizes), x.order);
}

Tensor Emitter::pad(const Tensor& x, std::span<const std::int64_t> before_and_after, double value) {
  Shape sizes = graph_.tensors[x.id].shape;
  Shape widths(before_and_after.size(), 0);
  for (std::size_t p = 0; p < sizes.size(); ++p) {
    for (std::size_t side = 0; side < 2; ++side) {
      widths[2 * p + side] = before_and_after[2U * x.order[p] + side];
      sizes[p] += widths[2 * p + side];
    }
  }
  const Tensor filler = reshape(number(value, x.dtype), {1});
  return as(raw(Op::Pad, {x, shape({widths.data(), widths.size()}), filler}, x.dtype, sizes), x.order);
}

Tensor Emitter::concat(std::span<const Tensor> parts, std::size_t dim) {
  if (parts.size() == 1) return parts[0];
  if (parts.size() > max_list) {
    std::vector<Tensor> joined;
    for (std::size_t i = 0; i < parts.size(); i += max_list)
      joined.push_back(concat(parts.subspan(i, std::min(max_list, parts.size() - i)), dim));
    return concat(joined, dim);
  }
  const auto first = std::ranges::find_if(parts, [&](const Tensor& part) { return !is_constant(part); });
  const Order order = first == parts.end() ? identity_order(parts[0].rank()) : first->order;
  std::vector<Tensor> operands;
  Shape shape = parts[0].shape;
  shape[dim] = 0;
  for (const Tensor& part : parts) {
    operands.push_back(in_order(part, order));
    shape[dim] += part.shape[dim];
  }
  const Axis axis{static_cast<std::int32_t>(inverse(order)[dim])};
  return as(raw(Op::Concat, operands, parts[0].dtype, permuted(shape, order), axis), order);
}

Tensor Emitter::elementwise(Op op, std::span<const Tensor> operands, DType dtype, Attributes attributes,
                            const Tensor* last) {
  Shape shape = operands[0].shape;
  for (const Tensor& operand : operands.subspan(1)) shape = broadcast(shape, operand.shape);
  // The order of the operand that is most to move.
  const Tensor* leader = nullptr;
  std::vector<Tensor> aligned;
  for (const Tensor& operand : operands)
    aligned.push_back(reshape(operand, with_rank(operand.shape, shape.size())));
  for (const Tensor& operand : aligned) {
    if (is_constant(operand)) continue;
    const bool is_larger = leader == nullptr || element_count(operand.shape) > element_count(leader->shape);
    const bool is_moved = leader != nullptr && is_identity(leader->order) && !is_identity(operand.order) &&
                          element_count(operand.shape) == element_count(leader->shape);
    if (is_larger || is_moved) leader = &operand;
  }
  const Order order = leader == nullptr ? identity_order(shape.size()) : leader->order;
  for (Tensor& operand : aligned) operand = in_order(operand, order);
  if (last != nullptr) aligned.push_back(*last);
  return as(raw(op, aligned, dtype, permuted(shape, order), std::move(attributes)), order);
}

Tensor Emitter::add(Op op, std::initializer_list<Tensor> operands, Attributes attributes) {
  return elementwise(op, std::span(operands.begin(), operands.size()), operands.begin()->dtype,
                     std::move(attributes));
}

Tensor Emitter::mul(const Tensor& a, const Tensor& b) {
  const Tensor shift = zero_point(DType::I8);
  const std::array operands = {a, b};
  return elementwise(Op::Mul, operands, a.dtype == DType::I8 || a.dtype == DType::I16 ? DType::I32 : a.dtype,
                     {}, &shift);
}

Tensor Emitter::compare(Op op, const Tensor& a, const Tensor& b) {
  const std::array operands = {a, b};
  return elementwise(op, operands, DType::Bool, {});
}

Tensor Emitter::select(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const std::array operands = {condition, a, b};
  return elementwise(Op::Select, operands, a.dtype, {});
}

Tensor Emitter::reduce(Op op, const Tensor& x, std::size_t dim) {
  if (x.shape[dim] == 1) return x;
  Shape shape = graph_.tensors[x.id].shape;
  const std::size_t axis = position(x, dim);
  shape[axis] = 1;
  return as(raw(op, {x}, x.dtype, shape, Axis{static_cast<std::int32_t>(axis)}), x.order);
}

Tensor Emitter::sum(const Tensor& x, std::span<const std::size_t> dims) {
  Tensor result = x;
  for (const std::size_t dim : dims) result = reduce(Op::ReduceSum, result, dim);
  return result;
}

// PyTorch sums f16 in f32.
Tensor Emitter::mean(const Tensor& x, std::span<const std::size_t> dims) {
  std::int64_t count = 1;
  for (const std::size_t dim : dims) count *= x.shape[dim];
  if (count == 1) return x;
  const Tensor total = sum(cast(x, DType::F32), dims);
  return cast(mul(total, 1.0 / static_cast<double>(count)), x.dtype);
}

Check Emitter::result(const Tensor& tensor, std::size_t i) {
  if (refusal_) return refusal_;
  const TensorType& type = node_->result(i)->tensor();
  if (mode_ && type.dtype == ScalarType::F32) return integer_result(tensor, *mode_, i);
  const auto dtype = dtype_of(type.dtype);
  if (!dtype) return refused_type(type.dtype);
  // A type that cannot be moved must lie in rows, in which a delegate's results are.
  if (!is_identity(tensor.order) && !has(device_.profile, Op::Transpose, *dtype, *dtype))
    return Refusal{"profile", fmt::format("{} of {}", name(Op::Transpose), name(*dtype)),
                   fmt::format("operators of the profile {}", name(device_.profile))};
  CHECK(dtype == tensor.dtype) << node_->display_name();
  CHECK(shape_of(type) == tensor.shape) << node_->display_name();
  values_[node_->result(i)] = tensor;
  return {};
}

Check Emitter::result_i64(const Tensor& tensor, std::size_t i) {
  if (refusal_) return refusal_;
  CHECK(tensor.dtype == DType::I32 || tensor.dtype == dtype_of(ScalarType::I64)) << node_->display_name();
  CHECK(shape_of(node_->result(i)->tensor()) == tensor.shape) << node_->display_name();
  values_[node_->result(i)] = cast(tensor, dtype_of(ScalarType::I64).value_or(DType::I32));
  return {};
}

Check Emitter::check_orders(const Node& node) {
  for (const Value* result : node.results()) {
    if (const auto integers = integers_.find(result); integers != integers_.end()) {
      in_rows(integers->second.tensor);
    } else if (const auto value = values_.find(result); value != values_.end()) {
      in_rows(value->second);
    }
  }
  return refusal_;
}

Shape Emitter::result_shape(std::size_t i) const {
  return shape_of(node_->result(i)->tensor());
}

DType Emitter::result_dtype(std::size_t i) const {
  if (mode_ && node_->result(i)->tensor().dtype == ScalarType::F32) return mode_->dtype();
  return dtype_of(node_->result(i)->tensor().dtype).value_or(DType::Unknown);
}

}  // namespace depute::tosa
