// Discrete Fourier transforms by matrix products: the runtime's FFT kernels return complex tensors, which few
// ops accept. A matrix is a constant of mm, which backends compute.
//
//   %y = aten.fft_rfft.default(%x: f32[8, 64])    ->    complex(mm(%x, C), mm(%x, S))
//
// With w = exp(-2 pi i / n), C + iS = w^(j k). A large size n = n1 * n2 is split (Cooley-Tukey): transforms
// of size n1, a factor w^(j2 k1), transforms of size n2. For a real signal, bins that are real by symmetry
// are exactly real if one matrix computes them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/kernel_forms.h"
#include "ops/math/complex_forms.h"
#include "ops/math/formula.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// One matrix is used up to largest_direct, for primes up to largest_prime; larger sizes are split.
constexpr std::int64_t largest_direct = 256;
constexpr std::int64_t largest_prime = 1024;
constexpr std::int64_t largest_size = std::int64_t{1} << 24;

// A signal as real tensors; `imaginary` is null for a real signal.
struct Signal {
  Value* real = nullptr;
  Value* imaginary = nullptr;
};

class Transform {
 public:
  Transform(Builder& b, ScalarType type, bool is_forward) : b_(b), type_(type), sign_(is_forward ? -1 : 1) {}

  // Transforms the last dimension; computes the first `kept` frequencies, divided by `divisor`.
  Signal along_last(const Signal& x, std::int64_t kept, double divisor) {
    const std::int64_t n = x.real->tensor().sizes.back().value();
    const bool is_direct = n <= largest_direct || n > largest_size;
    const std::int64_t factor = is_direct ? 1 : factor_near_root(n);
    if (factor > 1) return slice(in_two_steps(x, factor, n / factor, divisor), kept, n);
    if (n > largest_prime) {
      b_.fail(type_error(fmt::format("a Fourier transform of size {}, {}", n,
                                     n > largest_size ? "which is too large" : "a large prime"))
                  .error());
      return {};
    }
    return by_matrix(x, n, kept, divisor);
  }

 private:
  static std::int64_t factor_near_root(std::int64_t n) {
    auto factor = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
    while (n % factor != 0) --factor;
    return factor;
  }

  // Returns cos and sin of 2 pi j k / n, for j < rows and k < columns, computed in f64 from j k mod n. The
  // sine of a multiple of pi is exactly 0, so no bin gets a spurious sign.
  Signal roots(std::int64_t n, std::int64_t rows, std::int64_t columns, double divisor, double sign) {
    const auto line = [&](std::int64_t count, std::size_t dim) {
      return Term(b_, along(b_, range(b_, count), dim, 2));
    };
    const Term row = line(columns, 1), column = line(rows, 0);
    const Term power = (column * row).call("aten.remainder.Scalar", {n});
    const Term angle = power.to(ScalarType::F64) * (2 * std::numbers::pi / static_cast<double>(n));
    const Term is_between = (power * 2).call("aten.remainder.Scalar", {n}).call("aten.ne.Scalar", {0});
    const auto scaled = [&](const Term& t, double scale) {
      return (scale == 1 ? Formula(t) : t * scale).to(type_).value();
    };
    return {scaled(cos(angle), 1 / divisor),
            scaled(sin(angle) * is_between.to(ScalarType::F64), sign / divisor)};
  }

  Signal times(const Signal& x, const Signal& y, const char* op) {
    const auto product = [&](Value* a, Value* c) { return Term(b_, b_.call(op, {a, c})); };
    const Term real = product(x.real, y.real), imaginary = product(x.real, y.imaginary);
    if (x.imaginary == nullptr) return {real.value(), imaginary.value()};
    return {(real - product(x.imaginary, y.imaginary)).value(),
            (imaginary + product(x.imaginary, y.real)).value()};
  }

  template <typename Change>
  static Signal both(const Signal& x, Change&& change) {
    return {change(x.real), x.imaginary == nullptr ? nullptr : change(x.imaginary)};
  }

  Signal by_matrix(const Signal& x, std::int64_t n, std::int64_t kept, double divisor) {
    const Dims own = x.real->tensor().sizes;
    const SymInt rows = product({own.data(), own.size() - 1});
    const Signal flat = both(x, [&](Value* part) { return b_.view(part, {rows, n}); });
    // torch inverts a real signal by the forward transform and negation, which also affects signs of zeros.
    const bool is_turned = x.imaginary == nullptr && sign_ > 0;
    Signal y = times(flat, roots(n, n, kept, divisor, is_turned ? -sign_ : sign_), "aten.mm.default");
    if (is_turned) y.imaginary = b_.call("aten.neg.default", {y.imaginary});
    Dims sizes = own;
    sizes.back() = kept;
    return both(y, [&](Value* part) { return b_.view(part, sizes); });
  }

  // Splits the transform: x[j1 n2 + j2] gives y[k1 + n1 k2].
  Signal in_two_steps(const Signal& x, std::int64_t n1, std::int64_t n2, double divisor) {
    const Dims own = x.real->tensor().sizes;
    const SymInt rows = product({own.data(), own.size() - 1});
    const auto turned = [&](Value* part) { return b_.call("aten.permute.default", {part, Ints{0, 2, 1}}); };
    const auto square = [&](Value* part) { return turned(b_.view(part, {rows, n1, n2})); };
    Signal y = both(x, square);      // [rows, j2, j1]
    y = along_last(y, n1, divisor);  // [rows, j2, k1]
    y = times(y, roots(n1 * n2, n2, n1, 1, sign_), "aten.mul.Tensor");
    y = both(y, turned);       // [rows, k1, j2]
    y = along_last(y, n2, 1);  // [rows, k1, k2]
    y = both(y, turned);       // [rows, k2, k1]
    return both(y, [&](Value* part) { return reshape(b_, part, own); });
  }

  Signal slice(const Signal& x, std::int64_t kept, std::int64_t n) {
    if (kept == n) return x;
    return both(x, [&](Value* part) { return b_.call("aten.slice.Tensor", {part, -1, 0, kept}); });
  }

  Builder& b_;
  ScalarType type_;
  double sign_;
};

Signal signal_of(Builder& b, const Value* x) {
  Value* own = b.own(x);
  if (is_complex(x->tensor().dtype)) return {real_part(b, own), imaginary_part(b, own)};
  return {to_dtype(b, own, part_of(complex_of(x->tensor().dtype))), nullptr};
}

// Returns the value with dimensions `a` and `c` exchanged.
Value* exchanged(Builder& b, Value* x, std::size_t a, std::size_t c) {
  if (x == nullptr || a == c) return x;
  return b.call("aten.transpose.int", {x, static_cast<std::int64_t>(a), static_cast<std::int64_t>(c)});
}
Signal along_dim(Builder& b, Transform& transform, const Signal& x, std::size_t dim, std::int64_t kept,
                 double divisor) {
  const std::size_t last = x.real->tensor().rank() - 1;
  const Signal turned{exchanged(b, x.real, dim, last), exchanged(b, x.imaginary, dim, last)};
  const Signal y = transform.along_last(turned, kept, divisor);
  return {exchanged(b, y.real, dim, last), exchanged(b, y.imaginary, dim, last)};
}

// --- torch's three base ops, of which the others are composed

// aten's mode: 0 no scaling, 1 by the square root of the number of elements, 2 by their number.
double divisor_of(std::int64_t normalization, double count) {
  return normalization == 0 ? 1 : normalization == 1 ? std::sqrt(count) : count;
}
Result<std::vector<std::size_t>> transformed_dims(const OpCall& call) {
  std::vector<std::size_t> dims;
  const std::int64_t normalization = call.integer("normalization");
  if (normalization < 0 || normalization > 2)
    return argument_error(fmt::format("normalization {} is invalid; expected 0, 1 or 2", normalization));
  if (!call.is_constant_ints("dim"))
    return argument_error("the dimensions of a Fourier transform must be constant");
  for (const std::int64_t dim : call.ints("dim")) {
    TRY(const std::size_t wrapped, wrap_dim(dim, call.tensor("self").rank()));
    if (std::ranges::find(dims, wrapped) != dims.end())
      return argument_error("a Fourier transform has a duplicate dimension");
    dims.push_back(wrapped);
  }
  return dims;
}
Status expect_constant(const TensorType& type, std::span<const std::size_t> dims) {
  for (const std::size_t dim : dims) {
    if (dim >= type.rank()) return argument_error("a Fourier transform requires a tensor of rank 1 or more");
    if (!type.sizes[dim].is_constant()) return type_error("a Fourier transform requires a constant size");
    if (type.sizes[dim].value() < 1)
      return argument_error("a Fourier transform requires a size of 1 or more");
  }
  return {};
}
double product_of(const TensorType& type, std::span<const std::size_t> dims) {
  double count = 1;
  for (const std::size_t dim : dims) count *= static_cast<double>(type.sizes[dim].value());
  return count;
}

Types infer_c2c(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  return tensor_result(complex_of(part_of(self.dtype)), self.sizes);
}
Replacement c2c(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(const std::vector<std::size_t> dims, transformed_dims(call));
  TRY_STATUS(expect_constant(self, dims));
  double divisor = divisor_of(call.integer("normalization"), product_of(self, dims));
  Signal x = signal_of(b, call.value("self"));
  Transform transform(b, part_of(complex_of(part_of(self.dtype))), call.boolean("forward"));
  for (const std::size_t dim : dims) {
    x = along_dim(b, transform, x, dim, self.sizes[dim].value(), divisor);
    divisor = 1;
  }
  if (dims.empty() && x.imaginary == nullptr) x.imaginary = b.call("aten.zeros_like.default", {x.real});
  return one(complex_value_of(b, x.real, x.imaginary));
}

Types infer_r2c(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(const std::vector<std::size_t> dims, transformed_dims(call));
  Dims sizes = self.sizes;
  if (dims.empty() || sizes.empty())
    return argument_error("a Fourier transform requires at least one dimension");
  if (call.boolean("onesided")) sizes[dims.back()] = floor_div(sizes[dims.back()], SymInt(2)) + 1;
  return tensor_result(complex_of(self.dtype), std::move(sizes));
}
// True for a value that the method only returns: the runtime's kernel can compute it directly.
bool is_only_returned(const Value& value) {
  for (const Use& use : value.uses())
    if (!use.user()->is_return()) return false;
  return true;
}
Replacement r2c(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(const std::vector<std::size_t> dims, transformed_dims(call));
  if (call.boolean("onesided") && call.node() != nullptr && is_only_returned(*call.node()->result(0))) {
    const Ints places(dims.begin(), dims.end());
    if (places == call.ints("dim")) return std::vector<Value*>{};
    return one(b.call("aten._fft_r2c.default", {call["self"], places, call["normalization"], true}));
  }
  TRY_STATUS(expect_constant(self, dims));
  TRY(std::vector<Type> types, infer_r2c(call));
  double divisor = divisor_of(call.integer("normalization"), product_of(self, dims));
  Transform transform(b, part_of(types[0].tensor.dtype), true);
  Signal x = signal_of(b, call.value("self"));
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {  // the truncated dimension first
    x = along_dim(b, transform, x, *dim, types[0].tensor.sizes[*dim].value(), divisor);
    divisor = 1;
  }
  return one(complex_value_of(b, x.real, x.imaginary));
}

Types infer_c2r(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(const std::vector<std::size_t> dims, transformed_dims(call));
  Dims sizes = self.sizes;
  if (dims.empty() || sizes.empty())
    return argument_error("a Fourier transform requires at least one dimension");
  const SymInt last = as_sym_int(call["last_dim_size"]), half = floor_div(last, SymInt(2)) + 1;
  const bool may_be_half = !half.is_constant() || !sizes[dims.back()].is_constant();
  if (!may_be_half && half != sizes[dims.back()])
    return argument_error("last_dim_size does not match the size of the input");
  sizes[dims.back()] = last;
  return tensor_result(part_of(self.dtype), std::move(sizes));
}
// Extends the frequencies: those above the middle are the conjugates of those below.
Value* mirrored(Builder& b, Value* x, std::int64_t n, bool is_negative) {
  const std::int64_t own = n / 2 + 1;
  if (n - own <= 0) return x;
  Value* rest = b.call("aten.slice.Tensor", {x, -1, 1, n - own + 1});
  rest = b.call("aten.flip.default", {rest, Ints{-1}});
  if (is_negative) rest = b.call("aten.neg.default", {rest});
  return b.call("aten.cat.default", {std::vector<Value*>{x, rest}, -1});
}
Replacement c2r(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (call.value("self")->producer() == nullptr) return std::vector<Value*>{};  // an input of the program
  TRY(const std::vector<std::size_t> dims, transformed_dims(call));
  TRY_STATUS(expect_constant(self, dims));
  TRY(std::vector<Type> types, infer_c2r(call));
  const TensorType& type = types[0].tensor;
  TRY_STATUS(expect_constant(type, dims));
  const std::size_t last = dims.back(), end = self.rank() - 1;
  const std::int64_t n = type.sizes[last].value();
  if (self.sizes[last].value() != n / 2 + 1)
    return argument_error("last_dim_size does not match the size of the input");
  double divisor = divisor_of(call.integer("normalization"), product_of(type, dims));
  Transform transform(b, type.dtype, false);
  Signal x = signal_of(b, call.value("self"));
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    x = along_dim(b, transform, x, dims[i], self.sizes[dims[i]].value(), divisor);
    divisor = 1;
  }
  x = {mirrored(b, exchanged(b, x.real, last, end), n, false),
       mirrored(b, exchanged(b, x.imaginary, last, end), n, true)};
  const Signal y = transform.along_last(x, n, divisor);
  return one(exchanged(b, y.real, end, last));
}

// --- torch.fft

enum class FourierKind : std::uint8_t { Complex, ToHalf, FromHalf };

struct FourierPlan {
  Ints dims;   // nonnegative
  Dims sizes;  // of the signal along them
  std::int64_t normalization = 0;
};

// "backward" divides the inverse by n, "ortho" both by sqrt(n), "forward" the forward transform by n.
Result<std::int64_t> normalization_of(const OpCall& call, bool is_forward) {
  const std::string_view norm = call["norm"].is_none() ? "backward" : call.text("norm");
  if (norm == "ortho") return 1;
  if (norm == "backward") return is_forward ? 0 : 2;
  if (norm == "forward") return is_forward ? 2 : 0;
  return argument_error(fmt::format("norm '{}'", norm));
}

Result<FourierPlan> fourier_plan(const OpCall& call, FourierKind kind, bool is_forward) {
  const Dims& own = call.tensor("self").sizes;
  FourierPlan plan;
  const bool is_one = call.def().arg_index(Name("n")) >= 0;
  const Argument& given = call[is_one ? "n" : "s"];
  Dims wanted;
  if (is_one && !given.is_none()) wanted = {as_sym_int(given)};
  if (!is_one && !given.is_none()) wanted = as_dims(given);
  Ints dims;
  if (is_one) {
    dims = {call.integer("dim")};
  } else if (!call["dim"].is_none()) {
    dims = call.ints("dim");
  } else {
    const auto count = static_cast<std::int64_t>(given.is_none() ? own.size() : wanted.size());
    for (std::int64_t i = -count; i < 0; ++i) dims.push_back(i);
  }
  if (dims.empty() && kind != FourierKind::Complex)
    return argument_error("a Fourier transform requires at least one dimension");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    TRY(const std::size_t dim, wrap_dim(dims[i], own.size()));
    if (dim >= own.size()) return argument_error("a Fourier transform requires a tensor of rank 1 or more");
    SymInt size = own[dim];
    const bool is_given = i < wanted.size() && wanted[i] != SymInt(-1);
    if (kind == FourierKind::FromHalf && i + 1 == dims.size()) size = (size - 1) * 2;
    plan.dims.push_back(static_cast<std::int64_t>(dim));
    plan.sizes.push_back(is_given ? wanted[i] : size);
  }
  TRY(plan.normalization, normalization_of(call, is_forward));
  return plan;
}

// Truncates the input or pads it with zeros to the transformed sizes.
Value* resized(Builder& b, Value* x, const FourierPlan& plan, FourierKind kind) {
  for (std::size_t i = 0; i < plan.dims.size(); ++i) {
    SymInt size = plan.sizes[i];
    if (kind == FourierKind::FromHalf && i + 1 == plan.dims.size()) size = floor_div(size, SymInt(2)) + 1;
    const std::size_t dim = static_cast<std::size_t>(plan.dims[i]), rank = x->tensor().rank();
    const SymInt own = x->tensor().sizes[dim];
    if (own == size) continue;
    if (!own.is_constant() || !size.is_constant()) {
      b.fail(type_error("a Fourier transform requires a constant size").error());
    } else if (size.value() < own.value()) {
      x = b.call("aten.slice.Tensor", {x, plan.dims[i], 0, size.value()});
    } else {
      Ints padding(2 * (rank - dim), 0);
      padding.back() = size.value() - own.value();
      x = b.call("aten.constant_pad_nd.default", {x, padding});
    }
  }
  return x;
}

Result<Dims> result_sizes(const OpCall& call, const FourierPlan& plan, FourierKind kind) {
  Dims sizes = call.tensor("self").sizes;
  for (std::size_t i = 0; i < plan.dims.size(); ++i)
    sizes[static_cast<std::size_t>(plan.dims[i])] = plan.sizes[i];
  if (kind == FourierKind::ToHalf) {
    SymInt& last = sizes[static_cast<std::size_t>(plan.dims.back())];
    last = floor_div(last, SymInt(2)) + 1;
  }
  return sizes;
}

template <FourierKind kind, bool is_forward>
Types infer_fft(const OpCall& call) {
  TRY(const FourierPlan plan, fourier_plan(call, kind, is_forward));
  TRY(Dims sizes, result_sizes(call, plan, kind));
  const ScalarType own = call.tensor("self").dtype, part = part_of(complex_of(part_of(own)));
  return tensor_result(kind == FourierKind::FromHalf ? part : complex_of(part), std::move(sizes));
}
template <FourierKind kind, bool is_forward>
Replacement fft(Builder& b, const OpCall& call) {
  TRY(const FourierPlan plan, fourier_plan(call, kind, is_forward));
  Value* x = resized(b, b.own(call.value("self")), plan, kind);
  if (kind == FourierKind::ToHalf && is_complex(x->tensor().dtype))
    return argument_error("a real Fourier transform of a complex tensor");
  if (kind == FourierKind::ToHalf)
    return one(b.call("aten._fft_r2c.default", {x, plan.dims, plan.normalization, true}));
  if (kind == FourierKind::Complex)
    return one(b.call("aten._fft_c2c.default", {x, plan.dims, plan.normalization, is_forward}));
  if (!is_complex(x->tensor().dtype)) {
    x = to_dtype(b, x, part_of(complex_of(x->tensor().dtype)));
    x = complex_value_of(b, x, b.call("aten.zeros_like.default", {x}));
  }
  return one(b.call("aten._fft_c2r.default", {x, plan.dims, plan.normalization, b.size(plan.sizes.back())}));
}
template <FourierKind kind, bool is_forward>
constexpr OpRules transform() {
  return {.infer = infer_fft<kind, is_forward>, .decompose = fft<kind, is_forward>};
}

// --- order of frequencies

// Rotates the middle to the front, or back.
Replacement shifted(Builder& b, const OpCall& call, bool is_back) {
  const Dims& sizes = call.tensor("self").sizes;
  TRY(const std::vector<std::size_t> dims, wrap_dims(call["dim"], sizes.size()));
  Value* x = b.own(call.value("self"));
  for (const std::size_t dim : dims) {
    if (dim >= sizes.size()) return argument_error("fftshift requires a tensor of rank 1 or more");
    x = rotated(b, x, dim, is_back ? floor_div(sizes[dim], 2) : floor_div(sizes[dim] + 1, 2));
  }
  return one(x == call.value("self") ? b.call("aten.alias.default", {x}) : x);
}

}  // namespace

std::span<const OpLine> fourier_ops() {
  static constexpr OpLine lines[] = {
      {"aten._fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward)",
       on_complex(c2c, {.infer = infer_c2c})},
      {"aten._fft_r2c(Tensor self, int[] dim, int normalization, bool onesided)",
       accepting("self f32 f64 to_complex", on_complex(r2c, kernel("_fft_r2c.out", infer_r2c)))},
      {"aten._fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size)",
       accepting("self c64 c128",
                 on_complex(c2r, fitted(with_wrapped_dims, kernel("_fft_c2r.out", infer_c2r))))},
      {"aten.fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::Complex, true>())},
      {"aten.fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::Complex, false>())},
      {"aten.fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::ToHalf, true>())},
      {"aten.fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::FromHalf, false>())},
      {"aten.fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::Complex, true>())},
      {"aten.fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::Complex, false>())},
      {"aten.fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::ToHalf, true>())},
      {"aten.fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::FromHalf, false>())},
      {"aten.fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::Complex, true>())},
      {"aten.fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::Complex, false>())},
      {"aten.fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::ToHalf, true>())},
      {"aten.fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None)",
       in_autocast(AutocastF32, transform<FourierKind::FromHalf, false>())},
      {"aten.fft_fftshift(Tensor self, int[1]? dim=None)", composite(infer_same_type, given<shifted, false>)},
      {"aten.fft_ifftshift(Tensor self, int[1]? dim=None)", composite(infer_same_type, given<shifted, true>)},
  };
  return lines;
}

}  // namespace depute::internal
