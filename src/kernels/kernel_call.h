// A call as a kernel sees it: arguments by their schema names, values replaced by what they hold.
//
//   Contents neg(const KernelCall& call) {
//     TensorData self = call.tensor("self");
//     return call.dense(self.type.dtype, sizes_of(self), [self] { ... bytes ... });
//   }
//
// A kernel checks its arguments before it computes: the bytes of a large result are made later, when nothing
// can fail any more.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "depute/kernels.h"
#include "depute/op.h"
#include "kernels/tensors.h"
#include "ops/families.h"
#include "support/try.h"

namespace depute::internal {

using Contents = Result<std::vector<Content>>;

// A number or a truth.
double as_double(const Content& content);
// An integer or a truth.
std::int64_t as_int(const Content& content);

class KernelCall {
 public:
  // `result_types` are those of the op's rule; sizes in them may be symbolic.
  KernelCall(const OpCall& call, std::span<const Type> result_types, const ContentOf& content_of);

  bool has(std::string_view name) const { return call_->def().arg_index(Symbol(name)) >= 0; }
  bool is_none(std::string_view name) const;
  const TensorData& tensor(std::string_view name) const;
  std::optional<TensorData> optional_tensor(std::string_view name) const;
  std::vector<TensorData> tensors(std::string_view name) const;
  std::vector<std::optional<TensorData>> optional_tensors(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const;
  double number(std::string_view name) const;
  std::string_view text(std::string_view name) const;  // empty when None
  Shape ints(std::string_view name) const;             // a single number is a list of one, None of none
  std::vector<double> numbers(std::string_view name) const;
  // An argument by its place: a tensor, or a number as a 0-d tensor.
  TensorData operand(std::size_t index) const;
  TensorData operand(std::string_view name) const;
  // What an argument holds, for symbolic ops.
  Content content(std::size_t index) const { return content_of((*call_)[index]); }

  const OpDef& def() const { return call_->def(); }
  ScalarType result_type(std::size_t index = 0) const;
  // The type to compute in: the result's, or for results of bools what the operands are promoted to.
  ScalarType compute_type() const;

  // A dense tensor with the bytes that `compute` makes: now, or later when much has to be read or made.
  Result<Content> dense(ScalarType dtype, const Shape& sizes,
                        std::function<std::vector<std::byte>()> compute) const;

 private:
  Content content_of(const Argument& argument) const;
  TensorData as_operand(const Content& content) const;

  const OpCall* call_;
  std::span<const Type> result_types_;
  const ContentOf* content_of_;
  std::size_t operand_bytes_ = 0;
};

using KernelFunction = Contents (*)(const KernelCall& call);

struct KernelLine {
  std::string_view op;
  KernelFunction run;
};

// pointwise_kernels() and so on.
#define DEPUTE_DECLARE_KERNELS(family) std::span<const KernelLine> family##_kernels();
DEPUTE_KERNEL_FAMILIES(DEPUTE_DECLARE_KERNELS)
#undef DEPUTE_DECLARE_KERNELS

// One result.
inline Contents one(Result<Content> content) {
  TRY(Content result, std::move(content));
  return std::vector<Content>{std::move(result)};
}
inline Contents one(TensorData data) {
  return std::vector<Content>{Content(std::move(data))};
}

// `data` in another element type; the same when it has that already.
Result<TensorData> cast(const KernelCall& call, const TensorData& data, ScalarType dtype);

// Elements of `sizes`; nothing when one is negative, or when they are too many to be counted.
std::optional<std::size_t> checked_count(const Shape& sizes);

}  // namespace depute::internal
