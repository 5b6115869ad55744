// Types of values: normalization of strides, dimension orders and the text form.
#include "depute/program/type.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "ir/text/text.h"

namespace depute {
namespace {

// Strides treat a dimension of size 0 as size 1, as in PyTorch.
SymInt extent(const SymInt& size) {
  return size == 0 ? SymInt(1) : size;
}

// True if the strides are contiguous. Strides of dimensions of size 1 are ignored. PyTorch writes Max(1, u0)
// if it does not know that u0 is at least 1.
bool are_contiguous(const Dims& sizes, const Dims& strides) {
  if (std::ranges::any_of(sizes, [](const SymInt& size) { return size == 0; })) return true;
  SymInt inner = 1;  // expected stride: number of elements of the inner dimensions
  const SymInt* last = nullptr;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    SymInt expected = last == nullptr ? inner : inner * *last;
    if (strides[i] != expected && last != nullptr) expected = inner * sym_max(1, *last);
    if (strides[i] != expected) return false;
    inner = expected;
    last = &sizes[i];
  }
  return true;
}

using Order = std::vector<std::uint8_t>;

bool all_constant(const Dims& dims) {
  return std::ranges::all_of(dims, &SymInt::is_constant);
}

// Orders dimensions from innermost to outermost: each stride must be the product of the inner extents.
std::optional<Order> order_by_chain(const TensorType& type) {
  Order order(type.rank());
  std::vector<bool> taken(type.rank());
  SymInt expected = 1;
  for (std::size_t place = type.rank(); place-- > 0;) {
    std::size_t dim = type.rank();
    while (dim-- > 0 && (taken[dim] || type.strides[dim] != expected)) {
    }
    if (dim >= type.rank()) return std::nullopt;
    taken[dim] = true;
    order[place] = static_cast<std::uint8_t>(dim);
    expected = expected * extent(type.sizes[dim]);
  }
  return order;
}

std::optional<Order> order_by_stride(const TensorType& type) {
  Order order(type.rank());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  std::ranges::sort(order, [&](std::uint8_t a, std::uint8_t b) {
    std::int64_t stride_a = type.strides[a].value();
    std::int64_t stride_b = type.strides[b].value();
    return stride_a != stride_b ? stride_a > stride_b : a < b;
  });
  SymInt expected = 1;
  for (std::size_t place = type.rank(); place-- > 0;) {
    std::uint8_t dim = order[place];
    if (type.strides[dim] == 0) return std::nullopt;
    if (type.sizes[dim] == 1) continue;
    if (type.strides[dim] != expected) return std::nullopt;
    expected = expected * extent(type.sizes[dim]);
  }
  return order;
}

std::string list(const Dims& dims) {
  std::string text;
  for (const SymInt& dim : dims) {
    if (!text.empty()) text += ", ";
    text += dim.str();
  }
  return text;
}

std::string with_expr(std::string_view name, const SymExpr* expr) {
  if (expr == nullptr) return std::string(name);
  return std::string(name) + "[" + str(expr) + "]";
}

}  // namespace

bool TensorType::is_static() const {
  return all_constant(sizes);
}

SymInt TensorType::numel() const {
  return product(std::span(sizes.data(), sizes.size()));
}

std::optional<std::int64_t> TensorType::static_numel() const {
  std::int64_t count = 1;
  bool overflow = false;
  for (const SymInt& size : sizes) {
    if (!size.is_constant() || size.value() < 0) return std::nullopt;
    if (size.value() == 0) return is_static() ? std::optional<std::int64_t>(0) : std::nullopt;
    overflow |= __builtin_mul_overflow(count, size.value(), &count);
  }
  return overflow ? std::nullopt : std::optional(count);
}

std::optional<std::size_t> TensorType::static_bytes() const {
  auto count = static_numel();
  std::int64_t bytes = 0;
  if (!count) return std::nullopt;
  if (__builtin_mul_overflow(*count, static_cast<std::int64_t>(item_size(dtype)), &bytes))
    return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides(sizes.size());
  SymInt stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * extent(sizes[i]);
  }
  return strides;
}

TensorType make_tensor(ScalarType dtype, Dims sizes, Dims strides) {
  if (strides.size() != sizes.size() || are_contiguous(sizes, strides)) strides.clear();
  return {dtype, std::move(sizes), std::move(strides)};
}

std::optional<std::vector<std::uint8_t>> dim_order(const TensorType& type) {
  if (type.is_contiguous()) {
    Order order(type.rank());
    std::iota(order.begin(), order.end(), std::uint8_t{0});
    return order;
  }
  return all_constant(type.strides) ? order_by_stride(type) : order_by_chain(type);
}

Type tensor_type(TensorType tensor) {
  Type type;
  type.kind = Type::Kind::Tensor;
  type.tensor = std::move(tensor);
  return type;
}

Type sym_type(Type::Kind kind, const SymExpr* expr) {
  Type type;
  type.kind = kind;
  type.expr = expr;
  return type;
}

std::string str(const TensorType& type) {
  std::string text = std::string(name(type.dtype)) + "[" + list(type.sizes) + "]";
  if (!type.strides.empty()) text += "{strides=[" + list(type.strides) + "]}";
  return text;
}

std::string str(const Type& type) {
  switch (type.kind) {
    case Type::Kind::Tensor:
      return str(type.tensor);
    case Type::Kind::SymInt:
      return with_expr("sym_int", type.expr);
    case Type::Kind::SymFloat:
      return with_expr("sym_float", type.expr);
    case Type::Kind::SymBool:
      return with_expr("sym_bool", type.expr);
    case Type::Kind::None:
      return "none";
    case Type::Kind::CustomObj:
      return "custom_obj[" + text::quoted(type.class_name.str()) + "]";
    case Type::Kind::Token:
      return "token";
    case Type::Kind::String:
      return "string";
    case Type::Kind::Int:
      return "int";
    case Type::Kind::Float:
      return "float";
    case Type::Kind::Bool:
      return "bool";
  }
  return {};
}

}  // namespace depute
