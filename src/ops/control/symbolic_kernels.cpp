// Kernels of arithmetic on sizes and other numbers, with Python's rules: // rounds down, % has the sign of
// the divisor. Fails for integers above 64 bits.
#include <cmath>

#include "kernels/kernel_call.h"
#include "support/try.h"

namespace depute::internal {
namespace {

bool is_float(const RuntimeValue& number) {
  return std::holds_alternative<double>(number);
}

Contents number(RuntimeValue content) {
  return std::vector<RuntimeValue>{std::move(content)};
}
Failure too_large() {
  return bad_arguments("the number does not fit in 64 bits");
}

// Truncates the number to an integer.
Contents whole(double real) {
  if (!(real >= -0x1p63 && real < 0x1p63)) return too_large();
  return number(static_cast<std::int64_t>(real));
}

enum class Operation : std::uint8_t { Add, Sub, Mul };

Contents integer_arithmetic(Operation operation, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  switch (operation) {
    case Operation::Add:
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case Operation::Sub:
      overflows = __builtin_sub_overflow(a, b, &result);
      break;
    case Operation::Mul:
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
  }
  if (overflows) return too_large();
  return number(result);
}

template <Operation operation>
Contents arithmetic(const KernelCall& call) {
  RuntimeValue a = call.content(0);
  RuntimeValue b = call.content(1);
  if (!is_float(a) && !is_float(b)) return integer_arithmetic(operation, as_int(a), as_int(b));
  double x = as_double(a);
  double y = as_double(b);
  switch (operation) {
    case Operation::Add:
      return number(x + y);
    case Operation::Sub:
      return number(x - y);
    case Operation::Mul:
      return number(x * y);
  }
  return number(x);
}

Contents true_division(const KernelCall& call) {
  double divisor = as_double(call.content(1));
  if (divisor == 0) return bad_arguments("division by zero");
  return number(as_double(call.content(0)) / divisor);
}

Contents floor_division(const KernelCall& call) {
  RuntimeValue a = call.content(0);
  RuntimeValue b = call.content(1);
  if (as_double(b) == 0) return bad_arguments("division by zero");
  if (is_float(a) || is_float(b)) return number(std::floor(as_double(a) / as_double(b)));
  if (as_int(b) == -1) return integer_arithmetic(Operation::Sub, 0, as_int(a));
  std::int64_t quotient = as_int(a) / as_int(b);
  std::int64_t rest = as_int(a) % as_int(b);
  return number(quotient - (rest != 0 && (rest < 0) != (as_int(b) < 0) ? 1 : 0));
}

Contents modulus(const KernelCall& call) {
  RuntimeValue a = call.content(0);
  RuntimeValue b = call.content(1);
  if (as_double(b) == 0) return bad_arguments("division by zero");
  if (is_float(a) || is_float(b)) {
    double rest = std::fmod(as_double(a), as_double(b));
    return number(rest != 0 && (rest < 0) != (as_double(b) < 0) ? rest + as_double(b) : rest);
  }
  if (as_int(b) == -1) return number(std::int64_t{0});
  std::int64_t rest = as_int(a) % as_int(b);
  return number(rest != 0 && (rest < 0) != (as_int(b) < 0) ? rest + as_int(b) : rest);
}

Contents number_power(const KernelCall& call) {
  RuntimeValue a = call.content(0);
  RuntimeValue b = call.content(1);
  if (is_float(a) || is_float(b) || as_int(b) < 0) return number(std::pow(as_double(a), as_double(b)));
  std::int64_t result = 1;
  std::int64_t base = as_int(a);
  if (base == 0 || base == 1) return number(as_int(b) == 0 ? result : base);
  if (base == -1) return number(as_int(b) % 2 == 0 ? result : base);
  for (std::int64_t i = 0; i < as_int(b); ++i) {
    if (__builtin_mul_overflow(result, base, &result)) return too_large();
  }
  return number(result);
}

constexpr auto is_equal = [](auto a, auto b) { return a == b; };
constexpr auto is_not_equal = [](auto a, auto b) { return a != b; };
constexpr auto is_less = [](auto a, auto b) { return a < b; };
constexpr auto is_less_or_equal = [](auto a, auto b) { return a <= b; };
constexpr auto is_greater = [](auto a, auto b) { return a > b; };
constexpr auto is_greater_or_equal = [](auto a, auto b) { return a >= b; };
constexpr auto both = [](auto a, auto b) { return a != 0 && b != 0; };
constexpr auto either = [](auto a, auto b) { return a != 0 || b != 0; };

template <auto compare>
Contents comparison(const KernelCall& call) {
  RuntimeValue a = call.content(0);
  RuntimeValue b = call.content(1);
  if (is_float(a) || is_float(b)) return number(compare(as_double(a), as_double(b)));
  return number(compare(as_int(a), as_int(b)));
}

Contents negative(const KernelCall& call) {
  RuntimeValue a = call.content(0);
  if (is_float(a)) return number(-as_double(a));
  return integer_arithmetic(Operation::Sub, 0, as_int(a));
}
Contents same_number(const KernelCall& call) {
  return number(call.content(0));
}

template <auto is_better>
Contents extreme(const KernelCall& call) {
  RuntimeValue a = call.content(0);
  RuntimeValue b = call.content(1);
  if (!is_float(a) && !is_float(b)) return number(is_better(as_int(b), as_int(a)) ? as_int(b) : as_int(a));
  return number(is_better(as_double(b), as_double(a)) ? as_double(b) : as_double(a));
}

Contents to_float(const KernelCall& call) {
  return number(as_double(call.content(0)));
}
Contents to_int(const KernelCall& call) {
  RuntimeValue a = call.content(0);
  return is_float(a) ? whole(std::trunc(as_double(a))) : number(as_int(a));
}
Contents negation(const KernelCall& call) {
  return number(as_double(call.content(0)) == 0);
}
Contents choice(const KernelCall& call) {
  return number(as_double(call.content(0)) != 0 ? call.content(1) : call.content(2));
}
Contents square_root(const KernelCall& call) {
  return number(std::sqrt(as_double(call.content(0))));
}

// --- numbers from tensors

Contents size(const KernelCall& call) {
  Shape sizes = sizes_of(call.tensor("self"));
  TRY(std::size_t dim, checked_dim(call.integer("dim"), sizes.size()));
  if (sizes.empty()) return bad_arguments("expected a tensor of rank 1 or more");
  return number(sizes[dim]);
}
Contents stride(const KernelCall& call) {
  Shape strides = dense_strides(sizes_of(call.tensor("self")));
  TRY(std::size_t dim, checked_dim(call.integer("dim"), strides.size()));
  if (strides.empty()) return bad_arguments("expected a tensor of rank 1 or more");
  return number(strides[dim]);
}
Contents element_count(const KernelCall& call) {
  return number(static_cast<std::int64_t>(count_of(call.tensor("self"))));
}

Contents item(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  if (count_of(self) != 1) return bad_arguments("expected a tensor with exactly one element");
  TRY(Domain domain, domain_of(self.type.dtype));
  if (domain != Domain::Int) return number(Elements<double>(self)[0]);
  std::int64_t integer = Elements<std::int64_t>(self)[0];
  return self.type.dtype == ScalarType::Bool ? number(integer != 0) : number(integer);
}

}  // namespace

std::span<const KernelLine> symbolic_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.sym_size.int", size},
      {"aten.sym_stride.int", stride},
      {"aten.sym_numel.default", element_count},
      {"aten._local_scalar_dense.default", item},
      {"aten.item.default", item},
      {"_operator.add", arithmetic<Operation::Add>},
      {"_operator.sub", arithmetic<Operation::Sub>},
      {"_operator.mul", arithmetic<Operation::Mul>},
      {"_operator.truediv", true_division},
      {"_operator.floordiv", floor_division},
      {"_operator.mod", modulus},
      {"_operator.pow", number_power},
      {"_operator.neg", negative},
      {"_operator.pos", same_number},
      {"_operator.eq", comparison<is_equal>},
      {"_operator.ne", comparison<is_not_equal>},
      {"_operator.lt", comparison<is_less>},
      {"_operator.le", comparison<is_less_or_equal>},
      {"_operator.gt", comparison<is_greater>},
      {"_operator.ge", comparison<is_greater_or_equal>},
      {"_operator.and_", comparison<both>},
      {"_operator.or_", comparison<either>},
      {"torch.sym_max", extreme<is_greater>},
      {"torch.sym_min", extreme<is_less>},
      {"torch.sym_float", to_float},
      {"torch.sym_int", to_int},
      {"torch.sym_not", negation},
      {"torch.sym_ite", choice},
      {"torch._sym_sqrt", square_root},
      {"math.trunc", to_int},
  };
  return lines;
}

}  // namespace depute::internal
