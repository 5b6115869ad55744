// Random numbers. The runtime has kernels only for aten.rand and aten.randn; undelegated nodes with other
// distributions are composed of these.
//
//   aten.randint.low(2, 5, [4])  ->  floor(rand([4]) * 3) + 2
#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/math/formula.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Types infer_sized(const OpCall& call) {
  return tensor_result(dtype_or(call, ScalarType::F32), as_dims(call["size"]));
}
Types infer_whole(const OpCall& call) {
  return tensor_result(dtype_or(call, ScalarType::I64), as_dims(call["size"]));
}
Types infer_random_like(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  return tensor_result(dtype_or(call, self.dtype), self.sizes);
}

// Returns numbers in [0, 1) with 53 bits: in f32 the largest ones would be rounded to 1.
Term fine_uniform(Builder& b, const Dims& sizes) {
  return {b, b.call("aten.rand.default", {sizes, ScalarType::F64})};
}
Term normal_numbers(Builder& b, const Dims& sizes, ScalarType dtype) {
  return {b, b.call("aten.randn.default", {sizes, computing_type(dtype)})};
}
Result<TensorType> result_type(const OpCall& call) {
  TRY(std::vector<Type> types, call.def().infer(call));
  return types[0].tensor;
}

Replacement uniform_of_result(Builder& b, const OpCall& call) {
  TRY(TensorType type, result_type(call));
  return one(b.call("aten.rand.default", {type.sizes, type.dtype}));
}
Replacement normal_of_result(Builder& b, const OpCall& call) {
  TRY(TensorType type, result_type(call));
  return one(b.call("aten.randn.default", {type.sizes, type.dtype}));
}

// --- integers

// Returns integers in [low, high).
Replacement whole_numbers(Builder& b, const OpCall& call, const SymInt& low, const SymInt& high) {
  TRY(TensorType type, result_type(call));
  const SymInt count = high - low;
  if (count.is_constant() && count.value() <= 0)
    return argument_error("the range of random integers is empty");
  const auto number = [&](const SymInt& size) -> Formula {
    if (size.is_constant()) return static_cast<double>(size.value());
    return Term(b, size_tensor(b, size, ScalarType::F64));
  };
  const Term uniform = fine_uniform(b, type.sizes);
  const Formula start = number(low), length = number(count);
  return result(call, floor(uniform * length) + start);
}
Replacement randint(Builder& b, const OpCall& call) {
  const bool has_low = call.def().arg_index(Name("low")) >= 0;
  return whole_numbers(b, call, has_low ? as_sym_int(call["low"]) : SymInt(std::int64_t{0}),
                       as_sym_int(call["high"]));
}

// Returns the sorted order of random numbers.
Replacement randperm(Builder& b, const OpCall& call) {
  TRY(TensorType type, result_type(call));
  const Term order = fine_uniform(b, type.sizes).call("aten.argsort.default");
  return result(call, order);
}
Types infer_randperm(const OpCall& call) {
  const SymInt count = as_sym_int(call["n"]);
  if (count.is_constant() && count.value() < 0)
    return argument_error("the length of a permutation must not be negative");
  return tensor_result(dtype_or(call, ScalarType::I64), {count});
}

// --- normal numbers

Types infer_normal(const OpCall& call) {
  const Argument &mean = call["mean"], &std = call["std"];
  if (!mean.is_value()) return infer_promoted(call);
  if (!std.is_value()) return tensor_result(call.tensor("mean").dtype, call.tensor("mean").sizes);
  return infer_promoted(call);
}
Replacement normal(Builder& b, const OpCall& call) {
  TRY(TensorType type, result_type(call));
  Term numbers = normal_numbers(b, type.sizes, type.dtype);
  const auto operand_of = [&](std::string_view name) -> Formula {
    if (!call[name].is_value()) return call[name];
    return tensor_operand(b, call, name).to(numbers.dtype());
  };
  return result(call, numbers * operand_of("std") + operand_of("mean"));
}
Replacement uniform_between(Builder& b, const OpCall& call) {
  TRY(TensorType type, result_type(call));
  const double from = call["from"].as_double(), to = call["to"].as_double();
  if (!(from <= to)) return argument_error("the range of uniform random numbers is empty");
  return result(call, fine_uniform(b, type.sizes) * (to - from) + from);
}
// -log(1 - u) / lambda
Replacement exponential(Builder& b, const OpCall& call) {
  TRY(TensorType type, result_type(call));
  const double rate = call["lambd"].as_double();
  if (!(rate > 0)) return argument_error("the rate of an exponential distribution must be positive");
  return result(call, log1p(-fine_uniform(b, type.sizes)) * (-1 / rate));
}

// --- samples

Replacement coin_flips(Builder& b, const OpCall& call) {
  TRY(TensorType type, result_type(call));
  const Term number = fine_uniform(b, type.sizes);
  const bool has_number = call.def().arg_index(Name("p")) >= 0;
  return result(
      call, has_number ? number < call["p"] : number < tensor_operand(b, call, "self").to(ScalarType::F64));
}

Types infer_multinomial(const OpCall& call) {
  Dims sizes = call.tensor("self").sizes;
  if (sizes.empty() || sizes.size() > 2)
    return argument_error("multinomial requires a tensor of rank 1 or 2");
  sizes.back() = as_sym_int(call["num_samples"]);
  return tensor_result(ScalarType::I64, std::move(sizes));
}
// Selects the largest values of weight / exponential number, like torch does for sampling without
// replacement.
Replacement multinomial(Builder& b, const OpCall& call) {
  const SymInt count = as_sym_int(call["num_samples"]);
  if (!count.is_constant()) return type_error("the number of samples must be constant");
  const TensorType& self = call.tensor("self");
  const bool repeats = call.boolean("replacement") && count != 1;
  Term weights = tensor_operand(b, call, "self").to(ScalarType::F64);
  const Term least(b, b.call("aten.full.default", {Dims{}, 0x1p-60, ScalarType::F64}));
  Dims sizes = self.sizes;
  if (repeats) {  // one sample per row
    sizes.insert(sizes.end() - 1, count);
    weights = weights.call("aten.unsqueeze.default", {-2});
  }
  const Term times = max(-log1p(-fine_uniform(b, sizes)), least);
  const Term order = weights / times;
  if (repeats) return result(call, order.call("aten.argmax.default", {-1}));
  const std::vector<Value*> found = b.call_all("aten.topk.default", {order.value(), count.value(), -1});
  return one(found[1]);
}

// An op that a backend may take in its core form; the runtime has no kernel.
constexpr OpRules made_of_uniform(InferFunction infer, DecomposeFunction form) {
  return fitted(form, {.flags = Core | Random, .infer = infer});
}
constexpr OpRules random_composite(InferFunction infer, DecomposeFunction form, OpFlag flags = None) {
  return composite(infer, form, Random | flags);
}

}  // namespace

std::span<const OpLine> random_number_ops() {
  static constexpr OpLine lines[] = {
      {"aten.rand(SymInt[] size, *, ScalarType? dtype=None, ...)", kernel("rand.out", infer_sized, Random)},
      {"aten.randn(SymInt[] size, *, ScalarType? dtype=None, ...)", kernel("randn.out", infer_sized, Random)},
      {"aten.rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, ...)",
       random_composite(infer_sized, uniform_of_result)},
      {"aten.randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, ...)",
       random_composite(infer_sized, normal_of_result)},
      {"aten.randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, ...)",
       made_of_uniform(infer_whole, randint)},
      {"aten.randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, ...)",
       random_composite(infer_whole, randint)},
      {"aten.rand_like(Tensor self, *, ScalarType? dtype=None, ..., MemoryFormat? memory_format=None)",
       made_of_uniform(infer_random_like, uniform_of_result)},
      {"aten.randn_like(Tensor self, *, ScalarType? dtype=None, ..., MemoryFormat? memory_format=None)",
       made_of_uniform(infer_random_like, normal_of_result)},
      {"aten.randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, ..., MemoryFormat? "
       "memory_format=None)",
       random_composite(infer_random_like, randint)},
      {"aten.randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, ..., "
       "MemoryFormat? memory_format=None)",
       random_composite(infer_random_like, randint)},
      {"aten.randperm(SymInt n, *, ScalarType? dtype=4, ...)", random_composite(infer_randperm, randperm)},
      {"aten.normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, "
       "ScalarType? dtype=None, ...)",
       random_composite(infer_sized, normal)},
      {"aten.normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None)",
       {.flags = Random, .promotes = "mean std", .infer = infer_normal, .decompose = normal}},
      {"aten.normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None)",
       {.flags = Random, .promotes = "mean", .infer = infer_normal, .decompose = normal}},
      {"aten.normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None)",
       {.flags = Random, .promotes = "std", .infer = infer_normal, .decompose = normal}},
      {"aten.normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None)",
       random_composite(infer_same_type, normal)},
      {"aten.normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> "
       "Tensor(a!)",
       {.flags = Random, .infer = infer_same_type, .functional = "aten.normal_functional.default"}},
      {"aten.uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None)",
       random_composite(infer_same_type, uniform_between, InPlaceVariant)},
      {"aten.exponential(Tensor self, float lambd=1., *, Generator? generator=None)",
       random_composite(infer_same_type, exponential, InPlaceVariant)},
      {"aten.bernoulli(Tensor self, *, Generator? generator=None)",
       made_of_uniform(infer_same_type, coin_flips)},
      {"aten.bernoulli.p(Tensor self, float p, *, Generator? generator=None)",
       random_composite(infer_same_type, coin_flips)},
      {"aten.multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? "
       "generator=None)",
       random_composite(infer_multinomial, multinomial)},
      {"aten.native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
       {.flags = Core | Random, .out = "native_dropout.out"}},
  };
  return lines;
}

}  // namespace depute::internal
