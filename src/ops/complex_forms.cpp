#include "ops/complex_forms.h"

#include <functional>

#include "ops/formula.h"
#include "ops/idioms.h"

namespace depute {

Value* complex_value_of(Builder& b, const Value* real, const Value* imaginary) {
  return b.call("aten.complex.default", {real, imaginary});
}

}  // namespace depute

namespace depute::internal {
namespace {

Failure failed(const Builder& b) {
  return Failure(b.status().error());
}

bool is_complex_value(const Argument& argument) {
  return argument.is_value() && argument.as_value()->type().is_tensor() &&
         is_complex(argument.as_value()->tensor().dtype);
}

Value* part(Builder& b, Value* x, std::size_t which) {
  if (x == nullptr) return nullptr;
  const Node* made_by = x->producer();
  if (made_by != nullptr && made_by->op() == "aten.complex.default")
    return b.own(OpCall(*made_by)[which].as_value());
  return b.call(which == 0 ? "aten.real.default" : "aten.imag.default", {x});
}

Value* as_complex(Builder& b, const Term& real, const Term& imaginary) {
  return complex_value_of(b, real.value(), imaginary.value());
}

// Both parts of an operand as terms; of a number and of a real tensor those of a complex one.
struct PartTerms {
  Term real, imaginary;
};
PartTerms terms_of(Builder& b, const Argument& operand, ScalarType part_type) {
  const auto as_term = [&](const BuilderArgument& x) {
    const bool is_tensor = x.kind == BuilderArgument::Kind::Value && x.single->type().is_tensor();
    if (is_tensor) return Term(b, to_dtype(b, b.own(x.single), part_type));
    return Term(b, b.call("aten.scalar_tensor.default", {x, part_type}));
  };
  const ComplexParts parts = parts_of(b, operand);
  const Term real = as_term(parts.real);
  return {real, parts.imaginary ? as_term(*parts.imaginary) : real.call("aten.zeros_like.default")};
}
PartTerms terms_of(Builder& b, const OpCall& call, std::string_view name) {
  const ScalarType type = call.def().promotes() ? promoted_type(call) : call.tensor(name).dtype;
  return terms_of(b, call[name], part_of(type));
}

using Product = std::function<Value*(const BuilderArgument&, const BuilderArgument&)>;

// (a + bi)(c + di) = ac - bd + (ad + bc)i
Replacement product_of_parts(Builder& b, const ComplexParts& x, const ComplexParts& y,
                             const Product& product) {
  const auto sum = [&](const char* op, std::optional<Value*> left, std::optional<Value*> right) {
    if (left && right) return b.call(op, {*left, *right});
    return left ? *left : right.value_or(nullptr);
  };
  const auto times = [&](const std::optional<BuilderArgument>& left,
                         const std::optional<BuilderArgument>& right) -> std::optional<Value*> {
    if (!left || !right) return std::nullopt;
    return product(*left, *right);
  };
  Value* real = sum("aten.sub.Tensor", times(x.real, y.real), times(x.imaginary, y.imaginary));
  Value* imaginary = sum("aten.add.Tensor", times(x.real, y.imaginary), times(x.imaginary, y.real));
  return one(b.call("aten.complex.default", {real, imaginary}));
}

// The argument in the call for one part. What selects and measures stays; what is added or stored has parts.
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
  static const Symbol alpha("alpha");
  const bool is_added = def.is_promoted || (def.type == ArgType::Scalar && def.name != alpha);
  if (!is_added || argument.is_none()) return argument;
  if (argument.is_value() && argument.as_value()->type().is_tensor()) return of_value(argument);
  return is_imaginary ? BuilderArgument(0) : BuilderArgument(argument);
}

}  // namespace

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
  if (!is_complex_value(operand)) return {operand, std::nullopt};
  Value* x = b.own(operand.as_value());
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
  const std::vector<Value*> imaginary = results_of(true);
  if (b.failed()) return failed(b);
  std::vector<Value*> results;
  for (std::size_t i = 0; i < real.size(); ++i)
    results.push_back(b.call("aten.complex.default", {real[i], imaginary[i]}));
  return results;
}

Replacement complex_product(Builder& b, const OpCall& call) {
  const auto product = [&](const BuilderArgument& x, const BuilderArgument& y) {
    const bool is_tensor = x.kind == BuilderArgument::Kind::Value;  // else a number times a tensor
    return is_tensor ? b.call("aten.mul.Tensor", {x, y}) : b.call("aten.mul.Tensor", {y, x});
  };
  return product_of_parts(b, parts_of(b, call["self"]), parts_of(b, call["other"]), product);
}

Replacement complex_matrix_product(Builder& b, const OpCall& call) {
  const auto product = [&](const BuilderArgument& x, const BuilderArgument& y) {
    return b.call(call.def().name.str(), {x, y});
  };
  return product_of_parts(b, parts_of(b, call["self"]), parts_of(b, call["mat2"]), product);
}

// Both are scaled by the size of the divisor, whose square may be out of range.
Replacement complex_quotient(Builder& b, const OpCall& call) {
  const PartTerms x = terms_of(b, call, "self");
  if (!parts_of(b, call["other"]).imaginary) {
    const Term y = terms_of(b, call, "other").real;
    return one(as_complex(b, x.real / y, x.imaginary / y));
  }
  const PartTerms y = terms_of(b, call, "other");
  const Term scale = 1.0 / (abs(y.real) + abs(y.imaginary));
  const Term a = x.real * scale, c = y.real * scale, d = y.imaginary * scale;
  const Term e = x.imaginary * scale, size = c * c + d * d;
  return one(as_complex(b, (a * c + e * d) / size, (e * c - a * d) / size));
}

Replacement complex_abs(Builder& b, const OpCall& call) {
  const PartTerms x = terms_of(b, call, "self");
  return one((x.real * x.real + x.imaginary * x.imaginary).call("aten.sqrt.default").value());
}

Replacement complex_angle(Builder& b, const OpCall& call) {
  const PartTerms x = terms_of(b, call, "self");
  return one(x.imaginary.call("aten.atan2.default", {x.real.value()}).value());
}

Replacement complex_exp(Builder& b, const OpCall& call) {
  const PartTerms x = terms_of(b, call, "self");
  const Term size = exp(x.real);
  return one(as_complex(b, size * x.imaginary.call("aten.cos.default"),
                        size * x.imaginary.call("aten.sin.default")));
}

Replacement complex_log(Builder& b, const OpCall& call) {
  const PartTerms x = terms_of(b, call, "self");
  const Term size = (x.real * x.real + x.imaginary * x.imaginary).call("aten.sqrt.default");
  return one(as_complex(b, log(size), x.imaginary.call("aten.atan2.default", {x.real.value()})));
}

// With r = |z|: sqrt((r + a) / 2) + i sign(b) sqrt((r - a) / 2)
Replacement complex_sqrt(Builder& b, const OpCall& call) {
  const PartTerms x = terms_of(b, call, "self");
  const Term size = (x.real * x.real + x.imaginary * x.imaginary).call("aten.sqrt.default");
  const auto root = [](const Term& t) { return t.call("aten.clamp.default", {0}).call("aten.sqrt.default"); };
  const Term height = root((size - x.real) * 0.5);
  return one(as_complex(b, root((size + x.real) * 0.5), where(x.imaginary < 0, -height, height)));
}

Replacement complex_reciprocal(Builder& b, const OpCall& call) {
  const PartTerms y = terms_of(b, call, "self");
  const Term scale = 1.0 / (abs(y.real) + abs(y.imaginary));
  const Term c = y.real * scale, d = y.imaginary * scale;
  const Term size = c * c + d * d;
  return one(as_complex(b, c * scale / size, -(d * scale) / size));
}

Replacement complex_power(Builder& b, const OpCall& call) {
  const Argument& exponent = call["exponent"];
  const double power = exponent.is_number() ? exponent.as_double() : 0;
  if (power != 1 && power != 2 && power != 3 && power != 4)
    return type_error("a power of complex numbers other than 1, 2, 3 and 4");
  Value* x = b.own(call.value("self"));
  Value* result = x;
  for (int i = 1; i < static_cast<int>(power); ++i) result = b.call("aten.mul.Tensor", {result, x});
  return one(result);
}

Replacement complex_equal(Builder& b, const OpCall& call) {
  const PartTerms x = terms_of(b, call, "self"), y = terms_of(b, call, "other");
  return one(((x.real == y.real) & (x.imaginary == y.imaginary)).value());
}
Replacement complex_unequal(Builder& b, const OpCall& call) {
  const PartTerms x = terms_of(b, call, "self"), y = terms_of(b, call, "other");
  return one(((x.real != y.real) | (x.imaginary != y.imaginary)).value());
}

Replacement complex_conversion(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  const ScalarType target = dtype_or(call, x->tensor().dtype);
  Value* real = to_dtype(b, real_part(b, x), part_of(target));
  if (!is_complex(target)) return one(real);
  return one(b.call("aten.complex.default", {real, to_dtype(b, imaginary_part(b, x), part_of(target))}));
}

}  // namespace depute::internal
