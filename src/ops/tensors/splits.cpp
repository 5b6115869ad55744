// Splits of a tensor along one dimension. All variants become split_with_sizes, slices and selects:
//
//   aten.chunk.default(f32[5, 2], 2)              ->  split_with_sizes [3, 2]
//   aten.tensor_split.indices(f32[5], [1, 4])     ->  split_with_sizes [1, 3, 1]
//   aten.unbind.int(f32[2, 3])                    ->  select 0, select 1
//   aten.narrow.default(f32[5], 0, 1, 2)          ->  slice 1:3
#include <fmt/format.h>

#include <algorithm>

#include "depute/program/builder.h"
#include "ops/op_table.h"
#include "ops/tensors/view_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Maximum number of results of a split or unbind.
constexpr std::int64_t max_parts = 1 << 16;

// --- positions of splits

// A part [start, end) of the dimension.
struct Part {
  SymInt start, end;
};
struct Parts {
  std::size_t dim = 0;
  std::vector<Part> parts;
};

std::vector<Part> end_to_end(const Dims& sizes) {
  std::vector<Part> parts;
  SymInt start = 0;
  for (const SymInt& size : sizes) {
    parts.push_back({start, start + size});
    start = start + size;
  }
  return parts;
}

bool is_end_to_end(const std::vector<Part>& parts) {
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].start != parts[i - 1].end) return false;
  }
  return true;
}

Status check_count(std::int64_t count) {
  if (count <= max_parts) return {};
  return type_error(fmt::format("a split into {} parts; the limit is {}", count, max_parts));
}

// Returns parts of `length` each, the last one shorter. For a dynamic size, the program gives the number of
// parts.
Result<Dims> equal_parts(const OpCall& call, const SymInt& size, const SymInt& length,
                         std::int64_t expected) {
  std::int64_t count = expected;
  if (size.is_constant() && length.is_constant()) {
    if (length.value() <= 0 && size.value() != 0) return argument_error("the split size must be 1 or more");
    if (length.value() > 0) count = (size.value() - 1) / length.value() + 1;
    count = std::max<std::int64_t>(1, count);
  } else if (call.node() != nullptr) {
    count = static_cast<std::int64_t>(call.node()->results().size());
  }
  TRY_STATUS(check_count(count));
  Dims parts(static_cast<std::size_t>(count), length);
  parts.back() = size - length * (count - 1);
  return parts;
}

Result<Dims> chunks(const OpCall& call, const SymInt& size) {
  std::int64_t count = call.integer("chunks");
  if (count <= 0) return argument_error("chunk requires 1 part or more");
  TRY_STATUS(check_count(count));
  SymInt length = floor_div(size + (count - 1), count);
  bool is_empty = size == 0;  // an empty dimension has all requested parts
  return is_empty ? Dims(static_cast<std::size_t>(count), SymInt{}) : equal_parts(call, size, length, count);
}

Result<Dims> split_sizes(const OpCall& call, const SymInt& size) {
  const Argument& how = call[1];
  if (!how.is_list()) return equal_parts(call, size, as_sym_int(how), 1);
  Dims parts = as_dims(how);
  SymInt total = 0;
  for (const SymInt& part : parts) total = total + part;
  if (total == size || !total.is_constant() || !size.is_constant()) return parts;
  return argument_error(
      fmt::format("the parts have {} elements, but the dimension has size {}", total.str(), size.str()));
}

// Returns parts of nearly equal size; the first ones are longer by one.
Result<Dims> sections(const Argument& number, const SymInt& size) {
  if (!number.is_int() || number.as_int() <= 0) return type_error("the number of parts must be constant");
  std::int64_t count = number.as_int();
  TRY_STATUS(check_count(count));
  Dims parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(floor_div(size + (count - 1 - i), count));
  return parts;
}

// Wraps an index and clamps it to [0, size].
SymInt place(const SymInt& index, const SymInt& size) {
  if (!index.is_constant()) return index;
  SymInt at = index.value() < 0 ? size + index.value() : index;
  if (at.is_constant() && size.is_constant()) return std::clamp<std::int64_t>(at.value(), 0, size.value());
  return index.value() < 0 ? sym_max(at, 0) : sym_min(at, size);
}

// Returns the parts between the indices, which need not ascend.
std::vector<Part> between(const Dims& indices, const SymInt& size) {
  std::vector<Part> parts;
  SymInt start = 0;
  for (const SymInt& index : indices) {
    SymInt end = place(index, size);
    bool is_empty = start.is_constant() && end.is_constant() && end.value() < start.value();
    parts.push_back({start, is_empty ? start : end});
    start = end;
  }
  parts.push_back({start, size});
  return parts;
}

Result<Parts> read_split(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, dim_of(call, "dim", self));
  TRY(Dims sizes, call.def().arg_index(Name("chunks")) >= 0 ? chunks(call, self.sizes[dim])
                                                            : split_sizes(call, self.sizes[dim]));
  return Parts{dim, end_to_end(sizes)};
}

// Reads tensor_split along `dim`: into a number of parts, or at indices.
Result<Parts> split_along(const OpCall& call, std::size_t dim) {
  const SymInt& size = call.tensor("self").sizes[dim];
  if (call[1].is_list()) return Parts{dim, between(as_dims(call[1]), size)};
  TRY(Dims sizes, sections(call[1], size));
  return Parts{dim, end_to_end(sizes)};
}
Result<Parts> read_tensor_split(const OpCall& call) {
  TRY(std::size_t dim, dim_of(call, "dim", call.tensor("self")));
  return split_along(call, dim);
}
// Reads hsplit, vsplit or dsplit: along a fixed dimension, into parts of equal size.
template <std::size_t dim>
Result<Parts> read_stack_split(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  std::size_t axis = dim == 1 && self.rank() == 1 ? 0 : dim;
  std::size_t needed = dim == 0 ? 2 : axis + 1;
  if (self.rank() < needed)
    return argument_error(fmt::format("a split of a tensor of rank {} is not supported", self.rank()));
  return split_along(call, axis);
}

// --- splitting

using SplitReader = Result<Parts> (*)(const OpCall& call);

template <SplitReader read>
Types infer_parts(const OpCall& call) {
  TRY(Parts split, read(call));
  std::vector<Type> types;
  for (const Part& part : split.parts) {
    Dims sizes = call.tensor("self").sizes;
    sizes[split.dim] = part.end - part.start;
    types.push_back(tensor_type({.dtype = call.tensor("self").dtype, .sizes = std::move(sizes)}));
  }
  return types;
}

template <SplitReader read>
Replacement cut(Builder& b, const OpCall& call) {
  TRY(Parts split, read(call));
  auto axis = static_cast<std::int64_t>(split.dim);
  if (is_end_to_end(split.parts)) {
    Dims sizes;
    for (const Part& part : split.parts) sizes.push_back(part.end - part.start);
    return b.call_all("aten.split_with_sizes.default", {call["self"], sizes, axis});
  }
  std::vector<Value*> parts;
  for (const Part& part : split.parts) {
    parts.push_back(b.call("aten.slice.Tensor", {call["self"], axis, b.size(part.start), b.size(part.end)}));
  }
  return parts;
}

template <SplitReader read>
Result<Value*> write_part(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t result) {
  TRY(Parts split, read(call));
  const Part& part = split.parts[result];
  return b.call("aten.slice_scatter.default",
                {base, updated, static_cast<std::int64_t>(split.dim), b.size(part.start), b.size(part.end)});
}

// --- single parts

Types infer_narrow(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, dim_of(call, "dim", self));
  Dims sizes = self.sizes;
  sizes[dim] = as_sym_int(call["length"]);
  return tensor_result(self.dtype, std::move(sizes));
}
Result<Part> narrowed(const OpCall& call) {
  TRY(std::size_t dim, dim_of(call, "dim", call.tensor("self")));
  SymInt start = as_sym_int(call["start"]);
  if (start.is_constant() && start.value() < 0) start = start + call.tensor("self").sizes[dim];
  return Part{start, start + as_sym_int(call["length"])};
}
Replacement narrow(Builder& b, const OpCall& call) {
  TRY(Part part, narrowed(call));
  return one(b.call("aten.slice.Tensor", {call["self"], call["dim"], b.size(part.start), b.size(part.end)}));
}
Result<Value*> write_narrow(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t) {
  TRY(Part part, narrowed(call));
  return b.call("aten.slice_scatter.default",
                {base, updated, call["dim"], b.size(part.start), b.size(part.end)});
}

Types infer_unbind(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, dim_of(call, "dim", self));
  TRY(std::int64_t count, static_size(self, dim, "the size of the dimension of unbind"));
  TRY_STATUS(check_count(count));
  Dims sizes = self.sizes;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  return std::vector<Type>(static_cast<std::size_t>(count),
                           tensor_type({.dtype = self.dtype, .sizes = std::move(sizes)}));
}
Replacement unbind(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_unbind(call));
  std::vector<Value*> parts;
  for (std::size_t i = 0; i < types.size(); ++i) {
    parts.push_back(b.call("aten.select.int", {call["self"], call["dim"], static_cast<std::int64_t>(i)}));
  }
  return parts;
}
Result<Value*> write_unbound(Builder& b, const OpCall& call, Value* base, Value* updated,
                             std::size_t result) {
  return b.call("aten.select_scatter.default",
                {base, updated, call["dim"], static_cast<std::int64_t>(result)});
}

template <SplitReader read>
constexpr OpRules splitting(OpFlag flags) {
  return {.flags = flags,
          .view_kind = ViewKind::Split,
          .infer = infer_parts<read>,
          .decompose = cut<read>,
          .write_back = write_part<read>};
}

}  // namespace

std::span<const OpLine> split_ops() {
  static constexpr OpLine lines[] = {
      {"aten.split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
       {.flags = Core | View | CopyVariant,
        .view_kind = ViewKind::Split,
        .out = "split_with_sizes_copy.out",
        .infer = infer_parts<read_split>,
        .write_back = write_part<read_split>}},
      {"aten.unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
       splitting<read_split>(None)},
      {"aten.split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
       splitting<read_split>(View | CopyVariant)},
      {"aten.split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
       splitting<read_split>(View)},
      {"aten.unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
       splitting<read_split>(None)},
      {"aten.chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", splitting<read_split>(View)},
      {"aten.unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", splitting<read_split>(None)},
      {"aten.tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
       splitting<read_tensor_split>(View)},
      {"aten.tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
       splitting<read_tensor_split>(View)},
      {"aten.hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
       splitting<read_stack_split<1>>(View)},
      {"aten.hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
       splitting<read_stack_split<1>>(View)},
      {"aten.vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
       splitting<read_stack_split<0>>(View)},
      {"aten.vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
       splitting<read_stack_split<0>>(View)},
      {"aten.dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
       splitting<read_stack_split<2>>(View)},
      {"aten.dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
       splitting<read_stack_split<2>>(View)},
      {"aten.unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
       {.flags = View | CopyVariant,
        .view_kind = ViewKind::Split,
        .infer = infer_unbind,
        .decompose = unbind,
        .write_back = write_unbound}},
      {"aten.narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
       {.flags = View, .infer = infer_narrow, .decompose = narrow, .write_back = write_narrow}},
      {"aten.narrow_copy(Tensor self, int dim, SymInt start, SymInt length)",
       composite(infer_narrow, narrow)},
  };
  return lines;
}

}  // namespace depute::internal
