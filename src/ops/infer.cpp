#include "depute/program/infer.h"
#include "ops/broadcast.h"
#include "support/guarded.h"
#include "support/try.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace depute {
namespace {

// Returns the first tensor argument, or null.
const Value* first_tensor(const OpCall& call) {
  for (std::size_t i = 0; i < call.args().size(); ++i) {
    const Argument& argument = call[i];
    if (argument.is_value() && argument.as_value()->type().is_tensor()) return argument.as_value();
  }
  return nullptr;
}

Result<const TensorType*> first_tensor_type(const OpCall& call) {
  const Value* tensor = first_tensor(call);
  if (tensor == nullptr) return type_error("at least one argument must be a tensor");
  return &tensor->tensor();
}

Result<Dims> broadcast_arguments(const OpCall& call) {
  Dims sizes;
  for (const Argument& argument : call.args()) {
    if (!argument.is_value() || !argument.as_value()->type().is_tensor()) continue;
    const Dims& own = argument.as_value()->tensor().sizes;
    if (own.empty() || own == sizes) continue;
    TRY(sizes, broadcast(sizes, own));
  }
  return sizes;
}

// --- promotion

// Combines two kinds of operands like torch: the first decides unless the second has a higher category.
std::optional<ScalarType> combine(std::optional<ScalarType> higher, std::optional<ScalarType> lower) {
  if (!higher) return lower;
  if (!lower || is_complex(*higher)) return higher;
  if (is_floating(*higher)) return is_complex(*lower) ? promote(*higher, *lower) : *higher;
  if (*higher == ScalarType::Bool || is_floating(*lower) || is_complex(*lower))
    return promote(*higher, *lower);
  return higher;
}

void join(std::optional<ScalarType>& total, ScalarType next) {
  total = total ? promote(*total, next) : next;
}

std::vector<std::size_t> all_dims(std::size_t rank) {
  std::vector<std::size_t> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

bool has_argument(const OpCall& call, std::string_view name) {
  return std::ranges::any_of(call.def().args, [&](const ArgDef& arg) { return arg.name == name; });
}

// Returns the sizes after reducing over `dim` (all dimensions if there is no such argument) with `keepdim`.
Result<Dims> reduce(const OpCall& call, const TensorType& self) {
  std::vector<std::size_t> dims = all_dims(self.rank());
  bool keepdim = false;
  if (has_argument(call, "dim")) {
    TRY(dims, wrap_dims(call["dim"], self.rank()));
    keepdim = call.boolean("keepdim");
  }
  return reduced_sizes(self.sizes, dims, keepdim);
}

Types reduction_result(const OpCall& call, ScalarType dtype) {
  TRY(const TensorType* self, first_tensor_type(call));
  TRY(Dims sizes, reduce(call, *self));
  return tensor_result(dtype, std::move(sizes));
}

// The rule of a backend's op is code of others. What it throws is no error of the call, and so not returned.
Types inferred(const OpCall& call) {
  const OpDef& def = call.def();
  if (def.origin != OpOrigin::Backend) return def.infer(call);
  const auto place = [&] { return failure("callback", fmt::format("infer of {}", def.name.str()), {}); };
  std::optional<Types> types;
  value_or_throw(call_foreign(place, [&] { types = def.infer(call); }));
  return *std::move(types);
}

}  // namespace

Types result_types(const OpCall& call) {
  TRY(std::vector<Type> types, inferred(call));
  for (const Type& type : types) {
    if (!type.is_tensor()) continue;
    if (type.tensor.rank() > max_rank)
      return argument_error(fmt::format("unsupported result of rank {}", type.tensor.rank()));
    for (const SymInt& size : type.tensor.sizes) {
      if (!size.is_constant() || (size.value() >= 0 && size.value() <= max_static_size)) continue;
      return argument_error(fmt::format("unsupported result of size {}", size.value()));
    }
  }
  return types;
}

bool may_agree(const Type& a, const Type& b) {
  if (a.kind != b.kind || !a.is_tensor()) return a.kind == b.kind;
  const Dims &sizes = a.tensor.sizes, &others = b.tensor.sizes;
  return a.tensor.dtype == b.tensor.dtype &&
         std::ranges::equal(sizes, others, [](const SymInt& size, const SymInt& other) {
           return size == other || !size.is_constant() || !other.is_constant();
         });
}

Failure type_error(std::string message) {
  return failure("normalize", "", message);
}

Failure argument_error(std::string message) {
  return failure(bad_argument, "", message);
}

Types tensor_result(ScalarType dtype, Dims sizes) {
  return std::vector<Type>{tensor_type({.dtype = dtype, .sizes = std::move(sizes)})};
}

Result<Dims> broadcast(const Dims& a, const Dims& b) {
  return broadcast_sizes(a, b, [](const SymInt& size, const SymInt& other) {
    std::string message = fmt::format("sizes {} and {} do not broadcast", size.str(), other.str());
    const bool is_certain = size.is_constant() && other.is_constant();
    return is_certain ? argument_error(std::move(message)) : type_error(std::move(message));
  });
}

Result<std::size_t> wrap_dim(std::int64_t dim, std::size_t rank) {
  auto count = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (dim < -count || dim >= count) {
    return argument_error(fmt::format("dimension {} is out of range for a tensor of rank {}", dim, rank));
  }
  return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
}

Result<std::size_t> dim_of(const OpCall& call, std::string_view name, const TensorType& type) {
  if (type.rank() == 0) return argument_error(fmt::format("'{}' requires a tensor of rank 1 or more", name));
  return wrap_dim(call.integer(name), type.rank());
}

Result<std::vector<std::size_t>> wrap_dims(const Argument& dims, std::size_t rank) {
  if (dims.is_none() || (dims.is_list() && dims.as_list().empty())) return all_dims(rank);
  std::vector<std::size_t> wrapped;
  auto add = [&](const Argument& dim) -> Status {
    if (!dim.is_int()) return type_error("a dimension must be a constant");
    TRY(std::size_t index, wrap_dim(dim.as_int(), rank));
    wrapped.push_back(index);
    return {};
  };
  if (dims.is_list()) {
    for (const Argument& dim : dims.as_list()) TRY_STATUS(add(dim));
  } else {
    TRY_STATUS(add(dims));
  }
  std::ranges::sort(wrapped);
  if (std::ranges::adjacent_find(wrapped) != wrapped.end()) {
    return argument_error("duplicate dimension");
  }
  return wrapped;
}

Dims reduced_sizes(const Dims& sizes, std::span<const std::size_t> dims, bool keepdim) {
  Dims result;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (std::ranges::find(dims, i) == dims.end()) {
      result.push_back(sizes[i]);
    } else if (keepdim) {
      result.push_back(1);
    }
  }
  return result;
}

Result<std::int64_t> static_size(const TensorType& type, std::size_t dim, std::string_view what) {
  bool is_known = dim < type.rank() && type.sizes[dim].is_constant();
  if (!is_known) return type_error(fmt::format("{} must be a constant", what));
  std::int64_t size = type.sizes[dim].value();
  if (size >= 0 && size <= max_static_size) return size;
  return type_error(fmt::format("{} is {}; the limit is {}", what, size, max_static_size));
}

Result<double> constant_number(const OpCall& call, std::string_view name) {
  const Argument& number = call[name];
  if (number.is_number()) return number.as_double();
  return type_error(fmt::format("'{}' must be a constant number", name));
}

ScalarType scalar_type_of(const Argument& number) {
  using Kind = Argument::Kind;
  if (number.kind == Kind::Complex) return ScalarType::C64;
  if (number.kind == Kind::Float) return ScalarType::F32;
  if (number.kind == Kind::Bool) return ScalarType::Bool;
  if (!number.is_value()) return ScalarType::I64;
  Type::Kind kind = number.as_value()->type().kind;
  if (kind == Type::Kind::SymFloat || kind == Type::Kind::Float) return ScalarType::F32;
  return kind == Type::Kind::SymBool || kind == Type::Kind::Bool ? ScalarType::Bool : ScalarType::I64;
}

ScalarType promoted_type(const OpCall& call) {
  std::optional<ScalarType> of_tensors, of_0d_tensors, of_numbers;
  for (std::size_t i = 0; i < call.args().size(); ++i) {
    const Argument& argument = call[i];
    if (!call.def().args[i].is_promoted || argument.is_none()) continue;
    if (argument.is_value() && argument.as_value()->type().is_tensor()) {
      const TensorType& type = argument.as_value()->tensor();
      join(type.sizes.empty() ? of_0d_tensors : of_tensors, type.dtype);
    } else {
      join(of_numbers, scalar_type_of(argument));
    }
  }
  ScalarType type = combine(combine(of_tensors, of_0d_tensors), of_numbers).value_or(ScalarType::F32);
  bool is_number = is_floating(type) || is_complex(type);
  return call.def().is(OpFlag::PromotesToFloat) && !is_number ? ScalarType::F32 : type;
}

ScalarType dtype_or(const OpCall& call, ScalarType otherwise) {
  if (!has_argument(call, "dtype")) return otherwise;
  const Argument& dtype = call["dtype"];
  return dtype.is_none() ? otherwise : dtype.as_scalar_type();
}

Types infer_like_first(const OpCall& call) {
  TRY(const TensorType* self, first_tensor_type(call));
  TRY(Dims sizes, broadcast_arguments(call));
  return tensor_result(self->dtype, std::move(sizes));
}

Types infer_same_type(const OpCall& call) {
  TRY(const TensorType* self, first_tensor_type(call));
  return tensor_result(self->dtype, self->sizes);
}

Types infer_promoted(const OpCall& call) {
  TRY(Dims sizes, broadcast_arguments(call));
  return tensor_result(promoted_type(call), std::move(sizes));
}

Types infer_bool(const OpCall& call) {
  TRY(Dims sizes, broadcast_arguments(call));
  return tensor_result(ScalarType::Bool, std::move(sizes));
}

Types infer_nothing(const OpCall&) {
  return std::vector<Type>{};
}

Types infer_reduction(const OpCall& call) {
  TRY(const TensorType* self, first_tensor_type(call));
  return reduction_result(call, dtype_or(call, self->dtype));
}

Types infer_sum(const OpCall& call) {
  TRY(const TensorType* self, first_tensor_type(call));
  bool is_number = is_floating(self->dtype) || is_complex(self->dtype);
  return reduction_result(call, dtype_or(call, is_number ? self->dtype : ScalarType::I64));
}

Types infer_any(const OpCall& call) {
  TRY(const TensorType* self, first_tensor_type(call));
  return reduction_result(call, self->dtype == ScalarType::U8 ? ScalarType::U8 : ScalarType::Bool);
}

Types infer_arg_reduction(const OpCall& call) {
  return reduction_result(call, ScalarType::I64);
}

Types infer_dim_reduction_pair(const OpCall& call) {
  TRY(const TensorType* self, first_tensor_type(call));
  TRY(Dims sizes, reduce(call, *self));
  return std::vector<Type>{tensor_type({.dtype = self->dtype, .sizes = sizes}),
                           tensor_type({.dtype = ScalarType::I64, .sizes = sizes})};
}

}  // namespace depute
