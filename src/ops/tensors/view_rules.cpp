#include "ops/tensors/view_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "depute/program/builder.h"
#include "support/try.h"

namespace depute::internal {
namespace {

constexpr std::int64_t open_end = std::numeric_limits<std::int64_t>::max();

// Returns the order that moves dimensions `from` to positions `to` and keeps the others in order.
std::vector<std::size_t> moved(std::size_t rank, const std::vector<std::size_t>& from,
                               const std::vector<std::size_t>& to) {
  if (rank == 0) return {};  // dimension 0 may be named, although it does not exist
  std::vector<std::size_t> order(rank, rank);
  std::vector<bool> is_moved(rank, false);
  for (std::size_t i = 0; i < from.size(); ++i) {
    order[to[i]] = from[i];
    is_moved[from[i]] = true;
  }
  std::size_t next = 0;
  for (std::size_t& place : order) {
    if (place != rank) continue;
    while (is_moved[next]) ++next;
    place = next++;
  }
  return order;
}

// Returns the dimensions that a list argument names, in its order.
Result<std::vector<std::size_t>> named_dims(const OpCall& call, std::string_view name, std::size_t rank) {
  if (!call.is_constant_ints(name)) return type_error("a dimension must be a constant");
  std::vector<std::size_t> dims;
  for (std::int64_t dim : call.ints(name)) {
    TRY(std::size_t wrapped, wrap_dim(dim, rank));
    if (std::ranges::find(dims, wrapped) != dims.end()) return argument_error("duplicate dimension");
    dims.push_back(wrapped);
  }
  return dims;
}

Result<std::vector<std::size_t>> swapped(std::size_t rank, std::int64_t first, std::int64_t second) {
  TRY(std::size_t a, wrap_dim(first, rank));
  TRY(std::size_t b, wrap_dim(second, rank));
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (rank > 0) std::swap(order[a], order[b]);
  return order;
}

Result<std::vector<std::size_t>> moved_order(const OpCall& call, std::size_t rank) {
  TRY(auto from, named_dims(call, "source", rank));
  TRY(auto to, named_dims(call, "destination", rank));
  if (from.size() != to.size()) return argument_error("movedim requires as many sources as destinations");
  return moved(rank, from, to);
}

bool has(const OpCall& call, std::string_view name) {
  return std::ranges::any_of(call.def().args, [&](const ArgDef& arg) { return arg.name == name; });
}

// Returns a bound of a slice on a dimension of `size`, wrapped and clamped to [0, size].
SymInt slice_bound(const Argument& argument, const SymInt& otherwise, const SymInt& size) {
  if (argument.is_none()) return otherwise;
  SymInt bound = as_sym_int(argument);
  if (!bound.is_constant()) return bound;  // may lie behind the end: see infer_slice
  if (bound.value() == open_end) return size;
  if (bound.value() < 0) bound = bound + size;
  if (bound == 0) return 0;
  if (!size.is_constant()) return bound.is_constant() ? sym_min(bound, size) : bound;
  return std::clamp<std::int64_t>(bound.value(), 0, size.value());
}

}  // namespace

Result<Dims> view_sizes(const Dims& own, const Dims& wanted) {
  Dims sizes = wanted;
  std::size_t open = sizes.size();
  std::vector<SymInt> left(own.begin(), own.end());  // factors of the dynamic size, after cancellation
  std::vector<SymInt> divisors;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (open != sizes.size()) return argument_error("a view may have one size of -1");
      open = i;
      continue;
    }
    auto same = std::ranges::find(left, sizes[i]);
    if (same != left.end()) {
      left.erase(same);
    } else {
      divisors.push_back(sizes[i]);
    }
  }
  SymInt elements = product(left);
  SymInt known = product(divisors);
  if (open == sizes.size()) {
    if (elements == known || !elements.is_constant() || !known.is_constant()) return sizes;
    const bool are_empty =
        product({own.data(), own.size()}) == 0 && product({wanted.data(), wanted.size()}) == 0;
    if (are_empty) return sizes;  // for any other sizes
    return type_error(fmt::format("a view of {} elements cannot have {}",
                                  product({own.data(), own.size()}).str(),
                                  product({wanted.data(), wanted.size()}).str()));
  }
  bool divides = !elements.is_constant() || !known.is_constant() ||
                 (known.value() != 0 && elements.value() % known.value() == 0);
  if (!divides || known == 0) {
    return type_error(fmt::format("{} elements are not divisible by {}", elements.str(), known.str()));
  }
  sizes[open] = floor_div(elements, known);
  return sizes;
}

Result<std::vector<std::size_t>> permutation(const OpCall& call) {
  std::size_t rank = call.tensor("self").rank();
  if (has(call, "dims")) {
    TRY(auto order, named_dims(call, "dims", rank));
    if (order.size() != rank) return argument_error("permute must name every dimension");
    return order;
  }
  if (has(call, "dim0")) return swapped(rank, call.integer("dim0"), call.integer("dim1"));
  if (has(call, "axis0")) return swapped(rank, call.integer("axis0"), call.integer("axis1"));
  if (has(call, "source")) return moved_order(call, rank);
  // Without dimensions: t and numpy_T reverse all dimensions, the others (mT, mH, adjoint, ...) swap the last
  // two.
  std::string_view name = call.def().name.str();
  if (rank >= 2 && !name.starts_with("aten.t.") && !name.starts_with("aten.numpy_T."))
    return swapped(rank, -1, -2);
  if (name.starts_with("aten.m") && rank < 2) return argument_error("t requires a tensor of rank 2 or less");
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

Result<SymInt> slice_size(const SymInt& size, const OpCall& call) {
  SymInt step = as_sym_int(call["step"]);
  if (!step.is_constant() || step.value() <= 0) return type_error("the step of a slice must be positive");
  SymInt start = slice_bound(call["start"], 0, size);
  SymInt end = slice_bound(call["end"], size, size);
  SymInt length = floor_div(end - start + (step.value() - 1), step);
  return length.is_constant() ? SymInt(std::max<std::int64_t>(length.value(), 0)) : length;
}

bool has_open_bounds(const OpCall& slice) {
  return slice["start"].is_value() || slice["end"].is_value();
}

Replacement to_alias(Builder& b, const OpCall& call) {
  return one(b.call("aten.alias.default", {call[0]}));
}

Result<Value*> write_whole(Builder&, const OpCall&, Value*, Value* updated, std::size_t) {
  return updated;
}

Result<Value*> write_reshaped(Builder& b, const OpCall&, Value* base, Value* updated, std::size_t) {
  return b.view(updated, base->tensor().sizes);
}

Result<Value*> write_permuted(Builder& b, const OpCall& call, Value*, Value* updated, std::size_t) {
  TRY(std::vector<std::size_t> order, permutation(call));
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<std::int64_t>(i);
  return b.call("aten.permute.default", {updated, inverse});
}

Result<Value*> write_expanded(Builder& b, const OpCall&, Value* base, Value* updated, std::size_t) {
  const TensorType& type = base->tensor();
  if (updated->tensor().numel() == type.numel()) return b.view(updated, type.sizes);
  return type_error("a write through expand to repeated elements is not supported");
}

Result<Value*> write_strided(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t) {
  return b.call("aten.as_strided_scatter.default",
                {base, updated, call["size"], call["stride"], call["storage_offset"]});
}

Result<Value*> write_slice(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t) {
  return b.call("aten.slice_scatter.default",
                {base, updated, call["dim"], call["start"], call["end"], call["step"]});
}

Result<Value*> write_selected(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t) {
  return b.call("aten.select_scatter.default", {base, updated, call["dim"], call["index"]});
}

}  // namespace depute::internal
