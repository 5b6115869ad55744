// Diagonals: extracting, inserting and creating them. Elements are placed on a diagonal by a mask:
//
//   aten.diag_embed.default(f32[3])   ->   where(arange(3)[:, None] == arange(3), x[:, None], 0)
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "ops/rule_text.h"
#include "ops/tensors/view_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// --- position of a diagonal

Result<std::int64_t> read_offset(const OpCall& call, std::string_view name) {
  const std::int64_t offset = call.integer(name);
  if (offset >= -max_static_size && offset <= max_static_size) return offset;
  return argument_error(fmt::format("'{}' is {}", name, offset));
}
// The dimensions and the offset of a diagonal; torch's schemas use the same names.
struct Plane {
  std::size_t rows, columns;  // dimensions
  std::int64_t offset;
};
Result<Plane> read_plane(const OpCall& call, std::size_t rank) {
  if (rank < 2) return argument_error("a diagonal requires a tensor of rank 2 or more");
  TRY(std::size_t rows, wrap_dim(call.integer("dim1"), rank));
  TRY(std::size_t columns, wrap_dim(call.integer("dim2"), rank));
  if (rows == columns) return argument_error("a diagonal requires two different dimensions");
  TRY(std::int64_t offset, read_offset(call, "offset"));
  return Plane{rows, columns, offset};
}

SymInt diagonal_length(const SymInt& rows, const SymInt& columns, std::int64_t offset) {
  SymInt below = rows - std::max<std::int64_t>(-offset, 0);
  SymInt beside = columns - std::max<std::int64_t>(offset, 0);
  return sym_max(sym_min(below, beside), 0);
}

// --- extracting

Types infer_diagonal(const OpCall& call) {
  const TensorType& self = call[0].as_value()->tensor();
  TRY(Plane plane, read_plane(call, self.rank()));
  std::size_t dims[] = {plane.rows, plane.columns};
  Dims sizes = reduced_sizes(self.sizes, dims, false);
  sizes.push_back(diagonal_length(self.sizes[plane.rows], self.sizes[plane.columns], plane.offset));
  return tensor_result(self.dtype, std::move(sizes));
}
Replacement linalg_diagonal(Builder& b, const OpCall& call) {
  return one(b.call("aten.diagonal.default", call.args()));
}
Result<Value*> write_diagonal(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t) {
  return b.call("aten.diagonal_scatter.default", {base, updated, call["offset"], call["dim1"], call["dim2"]});
}

// --- inserting

// Returns bool[rows, columns], true on the diagonal.
Value* diagonal_mask(Builder& b, const SymInt& rows, const SymInt& columns, std::int64_t offset) {
  Value* row = b.call("aten.arange.start_step", {offset, b.size(rows + offset)});
  Value* column = b.call("aten.arange.start_step", {0, b.size(columns)});
  return b.call("aten.eq.Tensor", {b.call("aten.unsqueeze.default", {row, -1}), column});
}

// Returns `line` (its last dimension is the diagonal) on the diagonal of `sizes`, and `others` elsewhere.
Replacement on_diagonal(Builder& b, Value* line, const Dims& sizes, const Plane& plane,
                        const BuilderArgument& others) {
  auto [rows, columns, offset] = plane;
  // An element lies in the row of its index; if the diagonal starts lower, in the column of its index.
  std::size_t own = offset >= 0 ? rows : columns, other = offset >= 0 ? columns : rows;
  SymInt missing = sizes[own] - line->tensor().sizes.back();
  if (missing != 0) line = b.call("aten.constant_pad_nd.default", {line, Dims{0, missing}});
  auto last = static_cast<std::int64_t>(own > other ? own - 1 : own);
  if (last + 2 != static_cast<std::int64_t>(sizes.size())) {
    line = b.call("aten.movedim.int", {line, -1, last});
  }
  line = b.call("aten.unsqueeze.default", {line, static_cast<std::int64_t>(other)});
  Value* mask = diagonal_mask(b, sizes[rows], sizes[columns], offset);
  if (rows > columns) mask = b.call("aten.transpose.int", {mask, 0, 1});
  Dims spread(sizes.size() - std::min(rows, columns), SymInt(1));
  spread[0] = sizes[std::min(rows, columns)];
  spread[std::max(rows, columns) - std::min(rows, columns)] = sizes[std::max(rows, columns)];
  return one(b.call("aten.where.self", {b.view(mask, spread), line, others}));
}

Types infer_diag_embed(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(Plane plane, read_plane(call, self.rank() + 1));
  if (self.rank() == 0) return argument_error("diag_embed requires a tensor of rank 1 or more");
  SymInt length = self.sizes.back() + std::abs(plane.offset);
  Dims sizes(self.sizes.begin(), self.sizes.end() - 1);
  for (std::size_t dim : {std::min(plane.rows, plane.columns), std::max(plane.rows, plane.columns)}) {
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), length);
  }
  return tensor_result(self.dtype, std::move(sizes));
}
Replacement diag_embed(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_diag_embed(call));
  TRY(Plane plane, read_plane(call, types[0].tensor.rank()));
  Argument zero = call.tensor("self").dtype == ScalarType::Bool ? Argument::of(false) : Argument::of(0);
  return on_diagonal(b, b.own(call.value("self")), types[0].tensor.sizes, plane, zero);
}

Types infer_diagonal_scatter(const OpCall& call) {
  TRY(std::vector<Type> diagonal, infer_diagonal(call));
  diagonal[0].tensor.dtype = call.tensor("src").dtype;
  if (!may_agree(diagonal[0], tensor_type(call.tensor("src")))) {
    return argument_error(
        fmt::format("'src' is {}, but the diagonal is {}", str(call.tensor("src")), str(diagonal[0])));
  }
  return infer_same_type(call);
}
Replacement diagonal_scatter(Builder& b, const OpCall& call) {
  TRY(Plane plane, read_plane(call, call.tensor("self").rank()));
  return on_diagonal(b, b.own(call.value("src")), call.tensor("self").sizes, plane, call["self"]);
}

Replacement diag(Builder& b, const OpCall& call) {
  const std::size_t rank = call.tensor("self").rank();
  if (rank != 1 && rank != 2) return argument_error("diag requires a tensor of rank 1 or 2");
  std::string_view op = rank == 1 ? "aten.diag_embed.default" : "aten.diagonal.default";
  return one(b.call(op, {call["self"], call["diagonal"]}));
}

Replacement diagflat(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  return one(b.call("aten.diag_embed.default", {b.view(x, {x->tensor().numel()}), call["offset"]}));
}

// --- creating

Types infer_eye(const OpCall& call) {
  SymInt rows = as_sym_int(call["n"]);
  SymInt columns = call.def().arg_index(Name("m")) >= 0 ? as_sym_int(call["m"]) : rows;
  return tensor_result(dtype_or(call, ScalarType::F32), {rows, columns});
}
Replacement eye(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_eye(call));
  const TensorType& type = types[0].tensor;
  Value* mask = diagonal_mask(b, type.sizes[0], type.sizes[1], 0);
  if (type.dtype == ScalarType::Bool) return one(mask);
  return one(b.call("aten._to_copy.default", {mask, type.dtype}));
}

// The part of a rows x columns matrix on and below a diagonal, or on and above it.
struct Triangle {
  std::int64_t rows, columns, offset;
  bool is_upper;

  // Returns the columns of a row inside it: [first, last).
  std::pair<std::int64_t, std::int64_t> row(std::int64_t i) const {
    std::int64_t edge = std::clamp<std::int64_t>(i + offset + (is_upper ? 0 : 1), 0, columns);
    return is_upper ? std::pair(edge, columns) : std::pair(std::int64_t{0}, edge);
  }
};
constexpr std::int64_t max_triangle = 1 << 12;

Result<Triangle> read_triangle(const OpCall& call) {
  Triangle triangle{call.integer("row"), call.integer("col"), call.integer("offset"),
                    call.def().name == "aten.triu_indices.default"};
  bool is_known = triangle.rows >= 0 && triangle.columns >= 0 && triangle.rows <= max_triangle &&
                  triangle.columns <= max_triangle && std::abs(triangle.offset) <= max_triangle;
  if (!is_known) return type_error("tril_indices and triu_indices support at most 4096 rows and columns");
  return triangle;
}
Types infer_triangle_indices(const OpCall& call) {
  TRY(Triangle triangle, read_triangle(call));
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < triangle.rows; ++i) {
    auto [first, end] = triangle.row(i);
    count += end - first;
  }
  return tensor_result(dtype_or(call, ScalarType::I64), {2, count});
}
// Builds one run of row numbers and one of column numbers per row; they are folded into a constant.
Replacement triangle_indices(Builder& b, const OpCall& call) {
  TRY(Triangle triangle, read_triangle(call));
  TRY(std::vector<Type> types, infer_triangle_indices(call));
  std::vector<Value*> rows, columns;
  auto type = types[0].tensor.dtype;
  for (std::int64_t i = 0; i < triangle.rows; ++i) {
    auto [first, end] = triangle.row(i);
    if (first == end) continue;
    rows.push_back(b.call("aten.full.default", {Dims{end - first}, i, type}));
    columns.push_back(b.call("aten.arange.start_step", {first, end, 1, type}));
  }
  if (rows.empty()) return one(b.call("aten.full.default", {types[0].tensor.sizes, 0, type}));
  rows.insert(rows.end(), columns.begin(), columns.end());
  return one(b.view(b.call("aten.cat.default", {rows}), types[0].tensor.sizes));
}

Types infer_combinations(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (self.rank() != 1 || !self.sizes[0].is_constant())
    return argument_error("combinations requires a tensor of one dimension with a constant size");
  const std::int64_t n = self.sizes[0].value();
  const std::int64_t r = call.integer("r");
  if (n > max_triangle || (r != 1 && r != 2))
    return argument_error("combinations supports r = 1 and 2, and at most 4096 elements");
  const std::int64_t rows = n * (call["with_replacement"].as_bool() ? n + 1 : n - 1) / 2;
  return tensor_result(self.dtype, {r == 1 ? n : rows, r});
}
// The pairs are at the indices of a triangle: [a, b, c] becomes [[a, b], [a, c], [b, c]].
Replacement combinations(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_combinations(call));
  const Dims& sizes = types[0].tensor.sizes;
  Value* x = b.own(call.value("self"));
  if (sizes[1] == 1) return one(b.call("aten.clone.default", {b.view(x, sizes)}));
  const SymInt n = x->tensor().sizes[0];
  const std::int64_t offset = call["with_replacement"].as_bool() ? 0 : 1;
  Value* indices = b.call("aten.triu_indices.default", {n.value(), n.value(), offset});
  Value* taken = b.call("aten.index_select.default", {x, 0, b.view(indices, Dims{sizes[0] * 2})});
  return one(b.call("aten.permute.default", {b.view(taken, Dims{2, sizes[0]}), Dims{1, 0}}));
}

}  // namespace

std::span<const OpLine> diagonal_ops() {
  static constexpr OpLine lines[] = {
      {"aten.diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
       {.flags = Core | View | CopyVariant,
        .out = "diagonal_copy.out",
        .infer = infer_diagonal,
        .write_back = write_diagonal}},
      {"aten.linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
       {.flags = View, .infer = infer_diagonal, .decompose = linalg_diagonal, .write_back = write_diagonal}},
      {"aten.diag(Tensor self, int diagonal=0)", derived(diag)},
      {"aten.diagflat(Tensor self, int offset=0)", derived(diagflat)},
      {"aten.diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1)",
       composite(infer_diag_embed, diag_embed)},
      {"aten.diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1)",
       composite(infer_diagonal_scatter, diagonal_scatter, CopiesLayout)},
      {"aten.trace(Tensor self)",
       in_autocast(AutocastF32, derived(text<"rank(self) == 2 ? sum.dim_IntList(diagonal(self), [0]) : "
                                             "fail('trace of a tensor that is not a matrix')">))},
      {"aten.eye(SymInt n, *, ScalarType? dtype=None, ...)", composite(infer_eye, eye)},
      {"aten.eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, ...)", composite(infer_eye, eye)},
      {"aten.tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, ...)",
       composite(infer_triangle_indices, triangle_indices)},
      {"aten.combinations(Tensor self, int r=2, bool with_replacement=False)",
       composite(infer_combinations, combinations)},
      {"aten.triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, ...)",
       composite(infer_triangle_indices, triangle_indices)},
  };
  return lines;
}

}  // namespace depute::internal
