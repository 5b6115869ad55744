// A call as a kernel sees it: arguments by their schema names, values replaced by their contents.
//
//   Contents neg(const KernelCall& call) {
//     TensorData self = call.tensor("self");
//     return call.dense(self.type.dtype, sizes_of(self), [self] { ... bytes ... });
//   }
//
// A kernel checks its arguments before it computes. The bytes of a large result are produced later, when no
// error can occur any more.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "depute/program/interpret.h"
#include "depute/program/op.h"
#include "kernels/tensors.h"
#include "ops/families.h"
#include "support/try.h"

namespace depute::internal {

using Contents = Result<std::vector<RuntimeValue>>;

// Returns a number or a bool as a double.
double as_double(const RuntimeValue& content);
// Returns an integer or a bool as an integer.
std::int64_t as_int(const RuntimeValue& content);

class KernelCall {
 public:
  // `result_types` are inferred by the op's rule; their sizes may be symbolic.
  KernelCall(const OpCall& call, std::span<const Type> result_types, const RuntimeValueOf& content_of);

  bool has(std::string_view name) const { return call_->def().arg_index(Name(name)) >= 0; }
  bool is_none(std::string_view name) const;
  const TensorData& tensor(std::string_view name) const;
  std::optional<TensorData> optional_tensor(std::string_view name) const;
  std::vector<TensorData> tensors(std::string_view name) const;
  std::vector<std::optional<TensorData>> optional_tensors(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const;
  double number(std::string_view name) const;
  std::string_view text(std::string_view name) const;  // empty if None
  Shape ints(std::string_view name) const;             // a single number is a list of one; None is empty
  std::vector<double> numbers(std::string_view name) const;
  // Returns an argument by index or name: a tensor, or a number as a 0-d tensor.
  TensorData operand(std::size_t index) const;
  TensorData operand(std::string_view name) const;
  // Returns the content of an argument, for symbolic ops.
  RuntimeValue content(std::size_t index) const { return content_of((*call_)[index]); }

  const OpDef& def() const { return call_->def(); }
  ScalarType result_type(std::size_t index = 0) const;
  // Returns the type to compute in: the result's type, or for bool results the promoted type of the operands.
  ScalarType compute_type() const;

  // Returns a contiguous tensor with the bytes from `compute`, called now, or lazily for large operands or
  // results.
  Result<RuntimeValue> dense(ScalarType dtype, const Shape& sizes,
                             std::function<std::vector<std::byte>()> compute) const;

 private:
  RuntimeValue content_of(const Argument& argument) const;
  TensorData as_operand(const RuntimeValue& content) const;

  const OpCall* call_;
  std::span<const Type> result_types_;
  const RuntimeValueOf* content_of_;
  std::size_t operand_bytes_ = 0;
};

using KernelFunction = Contents (*)(const KernelCall& call);

struct KernelLine {
  std::string_view op;
  KernelFunction run;
};

// Declares pointwise_kernels() and so on.
#define DEPUTE_DECLARE_KERNELS(family) std::span<const KernelLine> family##_kernels();
DEPUTE_KERNEL_FAMILIES(DEPUTE_DECLARE_KERNELS)
#undef DEPUTE_DECLARE_KERNELS

// Wraps a single result.
inline Contents one(Result<RuntimeValue> content) {
  TRY(RuntimeValue result, std::move(content));
  return std::vector<RuntimeValue>{std::move(result)};
}
inline Contents one(TensorData data) {
  return std::vector<RuntimeValue>{RuntimeValue(std::move(data))};
}

// Converts `data` to another element type; returns it unchanged if it already has that type.
Result<TensorData> cast(const KernelCall& call, const TensorData& data, ScalarType dtype);

// Returns the number of elements; nullopt for a negative size or on overflow.
std::optional<std::size_t> checked_count(const Shape& sizes);

}  // namespace depute::internal
