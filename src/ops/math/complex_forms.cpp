#include "ops/math/complex_forms.h"

#include <functional>

#include "ops/idioms.h"
#include "ops/math/complex_functions.h"
#include "support/try.h"

namespace depute {

Value* complex_value_of(Builder& b, const Value* real, const Value* imaginary) {
  return b.call("aten.complex.default", {real, imaginary});
}

}  // namespace depute

namespace depute::internal {
namespace {

bool is_complex_value(const Argument& argument) {
  return argument.is_value() && argument.as_value()->type().is_tensor() &&
         is_complex(argument.as_value()->tensor().dtype);
}

Value* part(Builder& b, Value* x, std::size_t which) {
  if (x == nullptr) return nullptr;
  if (Value* known = known_part(b, x, which)) return known;
  return b.call(which == 0 ? "aten.real.default" : "aten.imag.default", {x});
}

using Product = std::function<Value*(const BuilderArgument&, const BuilderArgument&)>;

// (a + bi)(c + di) = ac - bd + (ad + bc)i
Replacement product_of_parts(Builder& b, const ComplexParts& x, const ComplexParts& y,
                             const Product& product) {
  const auto times = [&](const std::optional<BuilderArgument>& left,
                         const std::optional<BuilderArgument>& right) -> Value* {
    return left && right ? product(*left, *right) : nullptr;
  };
  const auto sum = [&](const char* op, Value* left, Value* right) {
    if (left == nullptr || right == nullptr) return left != nullptr ? left : right;
    return b.call(op, {left, right});
  };
  Value* ac = times(x.real, y.real);
  Value* bd = times(x.imaginary, y.imaginary);
  Value* real = sum("aten.sub.Tensor", ac, bd);
  Value* ad = times(x.real, y.imaginary);
  Value* bc = times(x.imaginary, y.real);
  Value* imaginary = sum("aten.add.Tensor", ad, bc);
  return one(complex_value_of(b, real, imaginary));
}

// Returns the argument of the call for one part. Selectors and dimensions are unchanged; added or stored
// values have parts.
BuilderArgument argument_of_part(Builder& b, const ArgDef& def, const Argument& argument, bool is_imaginary) {
  const auto of_value = [&](const Argument& element) -> Value* {
    Value* x = b.own(element.as_value());
    if (is_complex_value(element)) return is_imaginary ? imaginary_part(b, x) : real_part(b, x);
    return is_imaginary ? b.call("aten.zeros_like.default", {x}) : x;
  };
  if (is_complex_value(argument)) return of_value(argument);
  if (argument.kind == Argument::Kind::ScalarType) return part_of(argument.as_scalar_type());
  if (argument.kind == Argument::Kind::Complex) return argument.as_list()[is_imaginary ? 1 : 0];
  if (argument.is_list() && std::ranges::any_of(argument.as_list(), is_complex_value)) {
    std::vector<Value*> values;
    for (const Argument& element : argument.as_list()) values.push_back(of_value(element));
    return values;
  }
  const bool is_added =
      def.is_promoted || (def.type == ArgType::Scalar && def.name != "alpha");  // a factor in add and sub
  const bool is_stored = def.name == "src" || def.name == "source" || def.name == "values";
  if (!(is_added || is_stored) || argument.is_none()) return argument;
  if (argument.is_value() && argument.as_value()->type().is_tensor()) return of_value(argument);
  return is_imaginary ? BuilderArgument(0) : BuilderArgument(argument);
}

bool has_complex_parts(const Argument& argument) {
  if (argument.kind == Argument::Kind::Complex || is_complex_value(argument)) return true;
  return argument.is_list() && std::ranges::any_of(argument.as_list(), has_complex_parts);
}

}  // namespace

Value* known_part(Builder& b, const Value* x, std::size_t which) {
  const Node* made_by = x->producer();
  const bool is_known = made_by != nullptr && made_by->op() == "aten.complex.default";
  return is_known ? b.own(OpCall(*made_by)[which].as_value()) : nullptr;
}
Value* real_part(Builder& b, Value* x) {
  if (x == nullptr || !is_complex(x->tensor().dtype)) return x;
  return part(b, x, 0);
}
Value* imaginary_part(Builder& b, Value* x) {
  if (x == nullptr) return nullptr;
  return is_complex(x->tensor().dtype) ? part(b, x, 1) : b.call("aten.zeros_like.default", {x});
}

ComplexParts parts_of(Builder& b, const Argument& operand) {
  if (operand.kind == Argument::Kind::Complex) return {operand.as_list()[0], operand.as_list()[1]};
  if (!operand.is_value()) return {operand, std::nullopt};
  Value* x = b.own(operand.as_value());
  if (!is_complex_value(operand)) return {x, std::nullopt};
  return {real_part(b, x), imaginary_part(b, x)};
}

Types infer_part(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  return tensor_result(part_of(self.dtype), self.sizes);
}

Replacement each_part(Builder& b, const OpCall& call) {
  const auto results_of = [&](bool is_imaginary) {
    std::vector<BuilderArgument> args;
    for (std::size_t i = 0; i < call.args().size(); ++i)
      args.push_back(argument_of_part(b, call.def().args[i], call[i], is_imaginary));
    return b.call_all(call.def().name.str(), args);
  };
  const std::vector<Value*> real = results_of(false);
  const Types types = call.def().infer != nullptr ? call.def().infer(call) : std::vector<Type>{};
  const bool is_real = types && std::ranges::none_of(*types, [](const Type& type) {
                         return type.is_tensor() && is_complex(type.tensor.dtype);
                       });
  if (is_real && !types->empty()) return real;  // complex operands only provided sizes
  std::vector<Value*> imaginary;
  if (std::ranges::any_of(call.args(), has_complex_parts)) {
    imaginary = results_of(true);
  } else {  // only the result's type is complex
    for (Value* value : real) imaginary.push_back(b.call("aten.zeros_like.default", {value}));
  }
  std::vector<Value*> results;
  for (std::size_t i = 0; i < real.size(); ++i) results.push_back(complex_value_of(b, real[i], imaginary[i]));
  return results;
}

Replacement complex_sum(Builder& b, const OpCall& call) {
  if (call["alpha"].kind != Argument::Kind::Complex) return each_part(b, call);
  Value* scaled = b.call("aten.mul.Tensor", {call["other"], call["alpha"]});
  return one(b.call(call.def().name.str(), {call["self"], scaled}));
}

Replacement of_truth(Builder& b, const OpCall& call) {
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  for (std::size_t i = 0; i < args.size(); ++i)
    if (is_complex_value(call[i])) args[i] = b.call("aten.ne.Scalar", {call[i], 0});
  return b.call_all(call.def().name.str(), args);
}

Replacement complex_product(Builder& b, const OpCall& call) {
  const auto product = [&](const BuilderArgument& x, const BuilderArgument& y) {
    const bool is_tensor = x.kind == BuilderArgument::Kind::Value;  // otherwise x is a number
    return is_tensor ? b.call("aten.mul.Tensor", {x, y}) : b.call("aten.mul.Tensor", {y, x});
  };
  const ComplexParts other = parts_of(b, call["other"]);
  return product_of_parts(b, parts_of(b, call["self"]), other, product);
}

Replacement complex_matrix_product(Builder& b, const OpCall& call) {
  const auto product = [&](const BuilderArgument& x, const BuilderArgument& y) {
    return b.call(call.def().name.str(), {x, y});
  };
  const ComplexParts other = parts_of(b, call["mat2"]);
  return product_of_parts(b, parts_of(b, call["self"]), other, product);
}

// self * beta + (mat1 @ mat2) * alpha
Replacement complex_addmm(Builder& b, const OpCall& call) {
  const auto scaled = [&](const BuilderArgument& x, const Argument& scale) {
    return b.call("aten.mul.Tensor", {x, scale});
  };
  Value* product = b.call("aten.mm.default", {call["mat1"], call["mat2"]});
  return one(b.call("aten.add.Tensor", {scaled(call["self"], call["beta"]), scaled(product, call["alpha"])}));
}
Replacement complex_linear(Builder& b, const OpCall& call) {
  Value* weight = b.call("aten.t.default", {call["weight"]});
  Value* product = b.call("aten.matmul.default", {call["input"], weight});
  return one(call["bias"].is_none() ? product : b.call("aten.add.Tensor", {product, call["bias"]}));
}
Replacement complex_convolution(Builder& b, const OpCall& call) {
  const auto product = [&](const BuilderArgument& input, const BuilderArgument& weight) {
    std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
    args[0] = input, args[1] = weight, args[2] = Argument::none();
    return b.call(call.def().name.str(), args);
  };
  const ComplexParts weight = parts_of(b, call["weight"]);
  TRY(const std::vector<Value*> sum, product_of_parts(b, parts_of(b, call["input"]), weight, product));
  if (call["bias"].is_none()) return sum;
  std::vector<std::int64_t> column(sum[0]->tensor().rank() - 1, 1);
  column[0] = -1;
  Value* bias = b.call("aten.view.default", {call["bias"], column});
  return one(b.call("aten.add.Tensor", {sum[0], bias}));
}

// The variance is the sum of the variances of both parts.
Replacement complex_variance(Builder& b, const OpCall& call) {
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  Value* x = b.own(call.value("self"));
  args[0] = real_part(b, x);
  Value* real = b.call(call.def().name.str(), args);
  args[0] = imaginary_part(b, x);
  return one(b.call("aten.add.Tensor", {real, b.call(call.def().name.str(), args)}));
}

Replacement complex_equal(Builder& b, const OpCall& call) {
  const ComplexTerm x = complex_operand(b, call, "self"), y = complex_operand(b, call, "other");
  return one(((x.real == y.real) & (x.imaginary == y.imaginary)).value());
}
Replacement complex_unequal(Builder& b, const OpCall& call) {
  const ComplexTerm x = complex_operand(b, call, "self"), y = complex_operand(b, call, "other");
  return one(((x.real != y.real) | (x.imaginary != y.imaginary)).value());
}

Replacement complex_conversion(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  const ScalarType target = dtype_or(call, x->tensor().dtype);
  if (target == ScalarType::Bool) return one(b.call("aten.ne.Scalar", {x, 0}));
  Value* real = to_dtype(b, real_part(b, x), part_of(target));
  if (!is_complex(target)) return one(real);
  return one(complex_value_of(b, real, to_dtype(b, imaginary_part(b, x), part_of(target))));
}

// The second frequency of (a, -b, 0, 0) is a + bi, without rounding.
Replacement complex_by_transform(Builder& b, const OpCall& call) {
  Value* real = b.own(call.value("real"));
  Value* minus = b.call("aten.neg.default", {call["imag"]});
  Value* zero = b.call("aten.zeros_like.default", {real});
  Value* signal = b.call("aten.stack.default", {std::vector<Value*>{real, minus, zero, zero}, 0});
  Value* frequencies =
      b.call("aten._fft_r2c.default", {signal, std::vector<std::int64_t>{0}, std::int64_t{0}, true});
  return one(b.call("aten.select.int", {frequencies, 0, 1}));
}

}  // namespace depute::internal
