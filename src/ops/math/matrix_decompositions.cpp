// Small matrices, unrolled: solve, inv and det by an LU decomposition with partial pivoting; cholesky; qr by
// Householder reflections; matrix_exp by scaling and squaring.
//
// Each step removes the first row and column of the remaining matrix. Matrices that torch rejects at run time
// (a singular matrix to invert, one without a Cholesky factor) give infinities and NaN.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/math/formula.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Maximum number of steps of a decomposition. Each costs about ten nodes.
constexpr std::int64_t max_unrolled_steps = 8;

// --- matrices, in the last two dimensions

Formula matrix_part(const Formula& x, std::int64_t dim, std::int64_t start, std::int64_t end = to_the_end) {
  return x.call("aten.slice.Tensor", {dim, start, end});
}
Formula rows(const Formula& x, std::int64_t start, std::int64_t end = to_the_end) {
  return matrix_part(x, -2, start, end);
}
Formula columns(const Formula& x, std::int64_t start, std::int64_t end = to_the_end) {
  return matrix_part(x, -1, start, end);
}
Formula transposed(const Formula& x) {
  return x.call("aten.transpose.int", {-2, -1});
}
Formula times(const Formula& a, const Term& b) {
  return a.call("aten.matmul.default", {b.value()});
}
Term joined(Builder& b, const std::vector<Term>& parts, std::int64_t dim) {
  if (parts.size() == 1) return parts[0];
  std::vector<Value*> values;
  for (const Term& each : parts) values.push_back(each.value());
  return {b, b.call("aten.cat.default", {values, dim})};
}
Term without_matrix(const Term& element) {
  return element.call("aten.squeeze.dims", {Ints{-2, -1}});
}
Term expanded(const Term& x, const Dims& sizes) {
  if (x.value() == nullptr || x.sizes() == sizes) return x;
  return x.call("aten.expand.default", {sizes});
}
Term unit(Builder& b, std::int64_t rows, std::int64_t columns, ScalarType dtype) {
  return {b, b.call("aten.eye.m", {rows, columns, dtype})};
}
std::int64_t size_at(const TensorType& type, std::size_t from_end) {
  return type.sizes[type.rank() - from_end].value();
}
Dims batch_of(const TensorType& type) {
  return Dims(type.sizes.begin(), type.sizes.end() - 2);
}
Dims with_matrix(Dims batch, SymInt rows, SymInt columns) {
  batch.push_back(std::move(rows));
  batch.push_back(std::move(columns));
  return batch;
}

Status expect_matrix(const TensorType& type, bool is_square) {
  if (type.rank() < 2) return argument_error("a matrix decomposition requires a tensor of rank 2 or more");
  if (type.dtype != ScalarType::F32 && type.dtype != ScalarType::F64)
    return type_error(
        fmt::format("a matrix decomposition of {} is not supported; use f32 or f64", name(type.dtype)));
  const SymInt &count = type.sizes[type.rank() - 2], &width = type.sizes.back();
  if (is_square && count.is_constant() && width.is_constant() && count != width)
    return argument_error(fmt::format("the matrix must be square, got {} x {}", count.str(), width.str()));
  return {};
}

// Fails unless a decomposition with this number of steps is small enough to unroll.
Status expect_small(const TensorType& type, bool is_square) {
  TRY_STATUS(expect_matrix(type, is_square));
  const SymInt &count = type.sizes[type.rank() - 2], &width = type.sizes.back();
  if (!count.is_constant() || !width.is_constant())
    return type_error("a matrix decomposition requires constant matrix sizes");
  if (std::min(count.value(), width.value()) <= max_unrolled_steps) return {};
  return type_error(fmt::format("a decomposition of {} x {} matrices; the limit is {} x {}", count.value(),
                                width.value(), max_unrolled_steps, max_unrolled_steps));
}

// --- LU with partial pivoting, like LAPACK's getrf

struct Eliminated {
  std::vector<Term> rows;     // row i from column i on, of U and of the columns beside the matrix
  std::optional<Term> sign;   // of the permutation: [.., 1, 1]
  std::optional<Term> zeros;  // the number of the first zero pivot, from 1, or 0: [.., 1, 1]

  Term pivot(std::size_t i) const { return columns(rows[i], 0, 1); }
};

// `x` is [.., n, n + m]. A column of zeros is left unchanged.
Eliminated eliminate(Builder& b, Term x, std::int64_t n) {
  Eliminated done;
  for (std::int64_t step = 0; step < n; ++step) {
    Term row = rows(x, 0, 1);
    const std::int64_t left = n - step;
    if (left > 1) {
      const Term largest = abs(columns(x, 0, 1)).call("aten.argmax.default", {-2, true});
      row =
          x.call("aten.gather.default", {-2, b.call("aten.expand.default", {largest.value(), row.sizes()})});
      const Term swapped = where(largest == 0, 1.0, -1.0).to(x.dtype());
      done.sign = done.sign ? *done.sign * swapped : Formula(swapped);
      const Term number(b, b.call("aten.unsqueeze.default", {range(b, SymInt(left)), 1}));
      const Term rest = where(rows(number, 1) == largest, rows(x, 0, 1), rows(x, 1));
      const Term pivot = columns(row, 0, 1);
      const Term factor = columns(rest, 0, 1) / where(pivot == 0, 1.0, pivot);
      x = columns(rest, 1) - factor * columns(row, 1);
    }
    done.rows.push_back(row);
    const Term pivot = done.pivot(done.rows.size() - 1);
    const Term is_zero = (pivot == 0).to(ScalarType::I32) * (step + 1);
    done.zeros = done.zeros ? where(*done.zeros == 0, is_zero, *done.zeros) : Formula(is_zero);
  }
  return done;
}

// Returns the solution of U x = y, where the right sides stand beside U.
Term substitute(Builder& b, const Eliminated& lu) {
  const auto n = static_cast<std::int64_t>(lu.rows.size());
  std::optional<Term> below;
  for (std::int64_t i = n - 1; i >= 0; --i) {
    const Term& row = lu.rows[static_cast<std::size_t>(i)];
    Term right = columns(row, n - i);
    if (below) right = right - times(columns(row, 1, n - i), *below);
    const Term x = right / columns(row, 0, 1);
    below = below ? joined(b, {x, *below}, -2) : x;
  }
  return *below;
}

struct System {
  Term left, right;
  Dims sizes;      // of the solution
  bool is_vector;  // the right side has no columns
};

// Reads both sides of a linear system. Like in numpy, a right side is a batch of vectors if its sizes are
// those of the matrices without the last one.
Result<System> read_system(Builder& b, const OpCall& call, bool is_left) {
  const TensorType &a = call.tensor("A"), &y = call.tensor("B");
  TRY_STATUS(expect_small(a, true));
  const bool is_vector =
      y.rank() == 1 || (a.rank() == y.rank() + 1 && Dims(a.sizes.begin(), a.sizes.end() - 1) == y.sizes);
  System system{tensor_operand(b, call, "A"), tensor_operand(b, call, "B"), {}, is_vector};
  if (a.dtype != y.dtype)
    return argument_error("the matrix and the right-hand side must have the same dtype");
  if (is_vector) system.right = system.right.call("aten.unsqueeze.default", {-1});
  if (!is_left && !is_vector) {
    system.left = transposed(system.left);
    system.right = transposed(system.right);
  }
  const TensorType right = system.right.value()->tensor();
  if (right.rank() < 2 || right.sizes[right.rank() - 2] != a.sizes.back())
    return argument_error("the right-hand side does not match the matrix");
  TRY(Dims batch, broadcast(batch_of(a), batch_of(right)));
  system.left = expanded(system.left, with_matrix(batch, a.sizes.back(), a.sizes.back()));
  system.sizes = with_matrix(batch, a.sizes.back(), right.sizes.back());
  system.right = expanded(system.right, system.sizes);
  return system;
}

struct Solution {
  Term x;
  std::optional<Term> zeros;
};

Solution solve(Builder& b, const Term& left, const Term& right, std::int64_t n) {
  if (n == 0) return {right, std::nullopt};
  const Eliminated lu = eliminate(b, joined(b, {left, right}, -1), n);
  return {substitute(b, lu), lu.zeros};
}

Value* info_of(Builder& b, const Solution& solution, const Dims& batch) {
  if (solution.zeros) return without_matrix(*solution.zeros).value();
  return b.call("aten.full.default", {batch, 0, ScalarType::I32});
}

Result<Solution> solve_call(Builder& b, const OpCall& call) {
  const bool is_left = call.boolean("left");
  TRY(System system, read_system(b, call, is_left));
  Solution solution = solve(b, system.left, system.right, size_at(call.tensor("A"), 1));
  if (system.is_vector)
    solution.x = solution.x.call("aten.squeeze.dims", {Ints{-1}});
  else if (!is_left)
    solution.x = transposed(solution.x);
  return solution;
}
Replacement linalg_solve(Builder& b, const OpCall& call) {
  TRY(Solution solution, solve_call(b, call));
  return one(solution.x.value());
}
Replacement linalg_solve_ex(Builder& b, const OpCall& call) {
  TRY(Solution solution, solve_call(b, call));
  return std::vector<Value*>{solution.x.value(), info_of(b, solution, batch_of(call.tensor("A")))};
}
Types infer_solve(const OpCall& call) {
  const TensorType &a = call.tensor("A"), &y = call.tensor("B");
  TRY_STATUS(expect_matrix(a, true));
  const bool is_vector =
      y.rank() == 1 || (a.rank() == y.rank() + 1 && Dims(a.sizes.begin(), a.sizes.end() - 1) == y.sizes);
  if (y.rank() == 0) return argument_error("the right-hand side must have rank 1 or more");
  if (is_vector) return tensor_result(y.dtype, Dims(a.sizes.begin(), a.sizes.end() - 1));
  TRY(Dims batch, broadcast(batch_of(a), batch_of(y)));
  return tensor_result(y.dtype, with_matrix(batch, y.sizes[y.rank() - 2], y.sizes.back()));
}
Types with_info(Types types, const Dims& batch) {
  if (types) types->push_back(tensor_type({.dtype = ScalarType::I32, .sizes = batch}));
  return types;
}
Types infer_solve_ex(const OpCall& call) {
  TRY_STATUS(expect_matrix(call.tensor("A"), true));
  return with_info(infer_solve(call), batch_of(call.tensor("A")));
}

// Returns the name of the first argument.
std::string_view matrix_name(const OpCall& call) {
  return call.def().args[0].name.str();
}
Types infer_square_matrix(const OpCall& call) {
  const TensorType& a = call.tensor(matrix_name(call));
  TRY_STATUS(expect_matrix(a, true));
  return tensor_result(a.dtype, a.sizes);
}
Types infer_matrix_ex(const OpCall& call) {
  TRY(std::vector<Type> types, infer_square_matrix(call));
  return with_info(types, batch_of(types[0].tensor));
}

Result<Solution> inverse_call(Builder& b, const OpCall& call) {
  const TensorType& a = call.tensor(matrix_name(call));
  TRY_STATUS(expect_small(a, true));
  const std::int64_t n = size_at(a, 1);
  const Term right = expanded(unit(b, n, n, a.dtype), a.sizes);
  return solve(b, tensor_operand(b, call, matrix_name(call)), right, n);
}
Replacement inverse(Builder& b, const OpCall& call) {
  TRY(Solution solution, inverse_call(b, call));
  return one(solution.x.call("aten.alias.default").value());
}
Replacement inverse_ex(Builder& b, const OpCall& call) {
  TRY(Solution solution, inverse_call(b, call));
  const Dims batch = batch_of(call.tensor(matrix_name(call)));
  return std::vector<Value*>{solution.x.call("aten.alias.default").value(), info_of(b, solution, batch)};
}

// --- determinants

Types infer_det(const OpCall& call) {
  const TensorType& a = call.tensor(matrix_name(call));
  TRY_STATUS(expect_matrix(a, true));
  return tensor_result(a.dtype, batch_of(a));
}
Types infer_slogdet(const OpCall& call) {
  TRY(std::vector<Type> types, infer_det(call));
  return std::vector<Type>{types[0], types[0]};
}

struct Determinant {
  std::vector<Term> pivots;  // [.., 1, 1]
  std::optional<Term> sign;
};
Result<Determinant> determinant(Builder& b, const OpCall& call) {
  const TensorType& a = call.tensor(matrix_name(call));
  TRY_STATUS(expect_small(a, true));
  const Eliminated lu = eliminate(b, tensor_operand(b, call, matrix_name(call)), size_at(a, 1));
  Determinant found{.pivots = {}, .sign = lu.sign};
  for (std::size_t i = 0; i < lu.rows.size(); ++i) found.pivots.push_back(lu.pivot(i));
  return found;
}
Replacement det(Builder& b, const OpCall& call) {
  TRY(Determinant found, determinant(b, call));
  const TensorType& a = call.tensor(matrix_name(call));
  if (found.pivots.empty()) return one(b.call("aten.full.default", {batch_of(a), 1, a.dtype}));
  Term product = found.sign ? *found.sign * found.pivots[0] : found.pivots[0];
  for (std::size_t i = 1; i < found.pivots.size(); ++i) product = product * found.pivots[i];
  return one(without_matrix(product).value());
}
struct SignAndLog {
  Term sign, log;
};
Result<SignAndLog> sign_and_log(Builder& b, const OpCall& call) {
  TRY(Determinant found, determinant(b, call));
  const TensorType& a = call.tensor(matrix_name(call));
  if (found.pivots.empty()) {
    const Term zero(b, b.call("aten.full.default", {batch_of(a), 0, a.dtype}));
    return SignAndLog{zero + 1.0, zero};
  }
  std::optional<Term> sign = found.sign, sum;
  for (const Term& pivot : found.pivots) {
    const Term own = pivot.call("aten.sign.default"), size = log(abs(pivot));
    sign = sign ? *sign * own : Formula(own);
    sum = sum ? *sum + size : Formula(size);
  }
  return SignAndLog{without_matrix(*sign), without_matrix(*sum)};
}
Replacement slogdet(Builder& b, const OpCall& call) {
  TRY(SignAndLog found, sign_and_log(b, call));
  return std::vector<Value*>{found.sign.value(), found.log.value()};
}
Replacement logdet(Builder& b, const OpCall& call) {
  TRY(SignAndLog found, sign_and_log(b, call));
  return one(where(found.sign < 0, std::numeric_limits<double>::quiet_NaN(), found.log).value());
}

// --- Cholesky's factor

struct Factor {
  Term lower;
  std::optional<Term> info;  // the first leading minor that is not positive, from 1: [.., 1, 1]
};

// Decomposes the lower triangle of `x`.
Factor cholesky(Builder& b, Term x, std::int64_t n) {
  if (n == 0) return {x, std::nullopt};
  std::vector<Term> columns_done;
  std::optional<Term> info;
  for (std::int64_t i = 0; i < n; ++i) {
    const Term first = columns(x, 0, 1);
    const Term square = rows(first, 0, 1);
    const Term is_bad = (!(square > 0)).to(ScalarType::I32) * (i + 1);
    info = info ? where(*info == 0, is_bad, *info) : Formula(is_bad);
    const Term below = rows(first, 1) / sqrt(square);
    Term column = i + 1 < n ? joined(b, {sqrt(square), below}, -2) : sqrt(square);
    if (i > 0) column = column.call("aten.constant_pad_nd.default", {Ints{0, 0, i, 0}});
    columns_done.push_back(column);
    if (i + 1 < n) x = columns(rows(x, 1), 1) - below * transposed(below);
  }
  return {joined(b, columns_done, -1), info};
}
Result<Factor> cholesky_call(Builder& b, const OpCall& call) {
  TRY_STATUS(expect_small(call.tensor("self"), true));
  const bool is_upper = call.boolean("upper");
  Term x = tensor_operand(b, call, "self");
  if (is_upper) x = transposed(x);
  Factor factor = cholesky(b, x, size_at(call.tensor("self"), 1));
  if (is_upper) factor.lower = transposed(factor.lower);
  return factor;
}
Replacement linalg_cholesky(Builder& b, const OpCall& call) {
  TRY(Factor factor, cholesky_call(b, call));
  return one(factor.lower.call("aten.alias.default").value());
}
Replacement linalg_cholesky_ex(Builder& b, const OpCall& call) {
  TRY(Factor factor, cholesky_call(b, call));
  const Dims batch = batch_of(call.tensor("self"));
  return std::vector<Value*>{factor.lower.call("aten.alias.default").value(),
                             info_of(b, {factor.lower, factor.info}, batch)};
}

// --- triangular systems

// Returns the solution of T x = y for a triangular matrix T.
Term solve_triangle(Builder& b, const Term& t, const Term& y, bool is_upper, bool has_unit_diagonal,
                    std::int64_t n) {
  std::optional<Term> known;  // solution of the rows above, or below
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = is_upper ? n - 1 - step : step;
    const Term row = rows(t, i, i + 1);
    Term x = rows(y, i, i + 1);
    if (known) x = x - times(is_upper ? columns(row, i + 1) : columns(row, 0, i), *known);
    if (!has_unit_diagonal) x = x / columns(row, i, i + 1);
    if (!known)
      known = x;
    else
      known = is_upper ? joined(b, {x, *known}, -2) : joined(b, {*known, x}, -2);
  }
  return known ? *known : y;
}

Types infer_solve_triangular(const OpCall& call) {
  const TensorType &a = call.tensor("self"), &y = call.tensor("B");
  TRY_STATUS(expect_matrix(a, true));
  if (y.rank() < 2) return argument_error("the right-hand side must have rank 2 or more");
  TRY(Dims batch, broadcast(batch_of(a), batch_of(y)));
  return tensor_result(a.dtype, with_matrix(batch, y.sizes[y.rank() - 2], y.sizes.back()));
}
Replacement solve_triangular(Builder& b, const OpCall& call) {
  const TensorType& a = call.tensor("self");
  TRY_STATUS(expect_small(a, true));
  TRY(std::vector<Type> types, infer_solve_triangular(call));
  const bool is_left = call.boolean("left");
  bool is_upper = call.boolean("upper");
  Term t = expanded(tensor_operand(b, call, "self"),
                    with_matrix(batch_of(types[0].tensor), a.sizes.back(), a.sizes.back()));
  Term y = expanded(tensor_operand(b, call, "B"), types[0].tensor.sizes);
  if (!is_left) {
    t = transposed(t);
    y = transposed(y);
    is_upper = !is_upper;
  }
  Term x = solve_triangle(b, t, y, is_upper, call.boolean("unitriangular"), size_at(a, 1));
  if (!is_left) x = transposed(x);
  return one(x.call("aten.alias.default").value());
}

// Solves with both triangular factors of a symmetric matrix; `factor` is one of them.
Term solve_by_factor(Builder& b, const Term& factor, const Term& y, bool is_upper, std::int64_t n) {
  const Term lower = is_upper ? transposed(factor) : Formula(factor),
             upper = is_upper ? Formula(factor) : transposed(factor);
  return solve_triangle(b, upper, solve_triangle(b, lower, y, false, false, n), true, false, n);
}
Types infer_cholesky_solve(const OpCall& call) {
  const TensorType &y = call.tensor("self"), &factor = call.tensor("input2");
  TRY_STATUS(expect_matrix(factor, true));
  if (y.rank() < 2) return argument_error("the right-hand side must have rank 2 or more");
  TRY(Dims batch, broadcast(batch_of(factor), batch_of(y)));
  return tensor_result(y.dtype, with_matrix(batch, y.sizes[y.rank() - 2], y.sizes.back()));
}
Replacement cholesky_solve(Builder& b, const OpCall& call) {
  const TensorType& factor = call.tensor("input2");
  TRY_STATUS(expect_small(factor, true));
  TRY(std::vector<Type> types, infer_cholesky_solve(call));
  const Dims sizes = with_matrix(batch_of(types[0].tensor), factor.sizes.back(), factor.sizes.back());
  const Term y = expanded(tensor_operand(b, call, "self"), types[0].tensor.sizes);
  const Term t = expanded(tensor_operand(b, call, "input2"), sizes);
  const Term x = solve_by_factor(b, t, y, call.boolean("upper"), size_at(factor, 1));
  return one(x.call("aten.alias.default").value());
}
Replacement cholesky_inverse(Builder& b, const OpCall& call) {
  const TensorType& factor = call.tensor("self");
  TRY_STATUS(expect_small(factor, true));
  const std::int64_t n = size_at(factor, 1);
  const Term y = expanded(unit(b, n, n, factor.dtype), factor.sizes);
  const Term x = solve_by_factor(b, tensor_operand(b, call, "self"), y, call.boolean("upper"), n);
  return one(x.call("aten.alias.default").value());
}

// --- QR by Householder reflections, with LAPACK's signs

enum class QrMode : std::uint8_t { Reduced, Complete, R };

Result<QrMode> qr_mode(const OpCall& call) {
  const std::string_view mode = call.text("mode");
  if (mode == "reduced") return QrMode::Reduced;
  if (mode == "complete") return QrMode::Complete;
  if (mode == "r") return QrMode::R;
  return argument_error(fmt::format("unsupported mode '{}' of the QR decomposition", mode));
}
Types infer_qr(const OpCall& call) {
  const TensorType& a = call.tensor("A");
  TRY_STATUS(expect_matrix(a, false));
  TRY(QrMode mode, qr_mode(call));
  const SymInt &m = a.sizes[a.rank() - 2], &n = a.sizes.back();
  const SymInt inner = mode == QrMode::Complete ? m : sym_min(m, n);
  const Dims q = mode == QrMode::R ? Dims{0} : with_matrix(batch_of(a), m, inner);
  return std::vector<Type>{tensor_type({.dtype = a.dtype, .sizes = q}),
                           tensor_type({.dtype = a.dtype, .sizes = with_matrix(batch_of(a), inner, n)})};
}

struct Reflection {
  Term vector;  // [.., m - k, 1], 1 at first
  Term tau;     // [.., 1, 1]
  Term beta;    // the first element of the reflected column
};
Reflection reflect(const Term& column) {
  const Term alpha = rows(column, 0, 1), below = rows(column, 1);
  const Term scale = abs(column).call("aten.amax.default", {Ints{-2}, true});
  const Term scaled = column / where(scale == 0, 1.0, scale);  // squares neither overflow nor underflow
  const Term norm = sqrt((scaled * scaled).call("aten.sum.dim_IntList", {Ints{-2}, true})) * scale;
  const Term is_done = abs(below).call("aten.amax.default", {Ints{-2}, true}) == 0;
  const Term beta = where(is_done, alpha, where(alpha < 0, norm, -norm));
  const Term tau = where(is_done, 0.0, (beta - alpha) / where(is_done, 1.0, beta));
  const Term rest = below / where(is_done, 1.0, alpha - beta);
  const Term first = where(is_done, 1.0, 1.0).to(column.dtype());
  Builder& b = column.builder();
  return {joined(b, {first, rest}, -2), tau, beta};
}
// (I - tau v v') x
Term reflected(const Reflection& by, const Term& x) {
  return x - (by.vector * by.tau) * times(transposed(by.vector), x);
}

Replacement linalg_qr(Builder& b, const OpCall& call) {
  const TensorType& a = call.tensor("A");
  TRY_STATUS(expect_small(a, false));
  TRY(std::vector<Type> types, infer_qr(call));
  TRY(QrMode mode, qr_mode(call));
  const std::int64_t m = size_at(a, 2), n = size_at(a, 1);
  if (m == 0 || n == 0) return type_error("a QR decomposition of an empty matrix is not supported");
  Term x = tensor_operand(b, call, "A");
  std::vector<Term> r;
  std::vector<Reflection> reflections;
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    Term row = rows(x, 0, 1);
    if (k + 1 < m) {  // a single element needs no reflection
      const Reflection& by = reflections.emplace_back(reflect(columns(x, 0, 1)));
      if (k + 1 < n) {
        const Term others = reflected(by, columns(x, 1));
        row = joined(b, {by.beta, rows(others, 0, 1)}, -1);
        x = rows(others, 1);
      } else {
        row = by.beta;
      }
    }
    r.push_back(k == 0 ? row : row.call("aten.constant_pad_nd.default", {Ints{k, 0}}));
  }
  Term upper = joined(b, r, -2);
  if (mode == QrMode::Complete && m > n)
    upper = upper.call("aten.constant_pad_nd.default", {Ints{0, 0, 0, m - n}});
  if (mode == QrMode::R)
    return std::vector<Value*>{b.call("aten.full.default", {Dims{0}, 0, a.dtype}), upper.value()};
  const Dims& sizes = types[0].tensor.sizes;
  Term q = expanded(unit(b, m, sizes.back().value(), a.dtype), sizes);
  for (std::size_t k = reflections.size(); k-- > 0;) {
    Reflection by = reflections[k];
    const auto above = static_cast<std::int64_t>(k);
    if (k > 0) by.vector = by.vector.call("aten.constant_pad_nd.default", {Ints{0, 0, above, 0}});
    q = reflected(by, q);
  }
  return std::vector<Value*>{q.call("aten.alias.default").value(), upper.value()};
}

// --- the exponential: exp(x) = exp(x / 2^s)^(2^s)

// Maximum number of squarings; a matrix whose norm needs more gives NaN.
constexpr int max_squarings = 24;
constexpr int taylor_degree = 18;
constexpr double taylor_norm = 0.5;

Replacement matrix_exp(Builder& b, const OpCall& call) {
  const TensorType& a = call.tensor("self");
  TRY_STATUS(expect_matrix(a, true));
  if (!a.sizes.back().is_constant()) return type_error("matrix_exp requires constant matrix sizes");
  const std::int64_t n = size_at(a, 1);
  Term x = tensor_operand(b, call, "self");
  if (n == 0) return one(x.call("aten.alias.default").value());
  if (n == 1) return one(exp(x).value());
  const Term norm = abs(x)
                        .call("aten.sum.dim_IntList", {Ints{-2}, true})
                        .call("aten.amax.default", {Ints{-1}, true});  // [.., 1, 1]
  std::vector<Term> is_larger;
  Term scale = where(norm <= taylor_norm, 1.0, 1.0).to(a.dtype);
  double limit = taylor_norm, share = 1;
  for (int i = 0; i < max_squarings; ++i, limit *= 2) {
    is_larger.push_back(norm > limit);
    share /= 2;
    scale = where(is_larger.back(), share, scale);
  }
  x = x * where(norm <= limit, scale, std::numeric_limits<double>::quiet_NaN());
  const Term identity = unit(b, n, n, a.dtype);
  Term sum = x * (1.0 / taylor_degree) + identity;  // 1 + x/1 (1 + x/2 (1 + ..))
  for (int k = taylor_degree - 1; k >= 1; --k) sum = times(x, sum) * (1.0 / k) + identity;
  for (const Term& square : is_larger) sum = where(square, times(sum, sum), sum);
  return one(sum.value());
}

}  // namespace

std::span<const OpLine> matrix_decomposition_ops() {
  static constexpr OpLine lines[] = {
      {"aten.linalg_solve(Tensor A, Tensor B, *, bool left=True)",
       in_autocast(AutocastF32, composite(infer_solve, linalg_solve))},
      {"aten.linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor "
       "result, Tensor info)",
       composite(infer_solve_ex, linalg_solve_ex)},
      {"aten.linalg_inv(Tensor A)", in_autocast(AutocastF32, composite(infer_square_matrix, inverse))},
      {"aten.inverse(Tensor self)", in_autocast(AutocastF32, composite(infer_square_matrix, inverse))},
      {"aten.linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
       written_by("linalg_inv_ex.inverse", in_autocast(AutocastF32, composite(infer_matrix_ex, inverse_ex)))},
      {"aten.linalg_det(Tensor A)", composite(infer_det, det)},
      {"aten.det(Tensor self)", composite(infer_det, det)},
      {"aten.linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", composite(infer_slogdet, slogdet)},
      {"aten.slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", composite(infer_slogdet, slogdet)},
      {"aten.logdet(Tensor self)", composite(infer_det, logdet)},
      {"aten.linalg_cholesky(Tensor self, *, bool upper=False)",
       in_autocast(AutocastF32, composite(infer_square_matrix, linalg_cholesky))},
      {"aten.cholesky(Tensor self, bool upper=False)",
       in_autocast(AutocastF32, composite(infer_square_matrix, linalg_cholesky))},
      {"aten.linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, "
       "Tensor info)",
       written_by("linalg_cholesky_ex.L",
                  in_autocast(AutocastF32, composite(infer_matrix_ex, linalg_cholesky_ex)))},
      {"aten.cholesky_solve(Tensor self, Tensor input2, bool upper=False)",
       in_autocast(AutocastF32, composite(infer_cholesky_solve, cholesky_solve))},
      {"aten.cholesky_inverse(Tensor self, bool upper=False)",
       in_autocast(AutocastF32, composite(infer_square_matrix, cholesky_inverse))},
      {"aten.linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
       "unitriangular=False)",
       composite(infer_solve_triangular, solve_triangular)},
      {"aten.linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
       in_autocast(AutocastF32, composite(infer_qr, linalg_qr))},
      {"aten.linalg_matrix_exp(Tensor self)", composite(infer_square_matrix, matrix_exp)},
      {"aten.matrix_exp(Tensor self)", composite(infer_square_matrix, matrix_exp)},
  };
  return lines;
}

}  // namespace depute::internal
