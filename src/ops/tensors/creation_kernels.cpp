// Kernels that create tensors from sizes and numbers. A filled tensor is a single element with strides of 0.
#include <cmath>

#include "kernels/kernel_call.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Contents filled(const KernelCall& call, const Shape& sizes, const TensorData& number) {
  if (!checked_count(sizes)) return bad_arguments("a size is negative, or the tensor has too many elements");
  if (number.type.rank() != 0) return bad_arguments("the fill value must be a number");
  TRY(TensorData element, cast(call, number, call.result_type()));
  return one(broadcast_to(element, sizes));
}

Contents full(const KernelCall& call) {
  return filled(call, call.ints("size"), call.operand("fill_value"));
}
Contents full_like(const KernelCall& call) {
  return filled(call, sizes_of(call.tensor("self")), call.operand("fill_value"));
}
Contents fill(const KernelCall& call) {
  return filled(call, sizes_of(call.tensor("self")), call.operand("value"));
}

template <std::int64_t number>
Contents full_of(const KernelCall& call) {
  return filled(call, call.ints("size"), scalar_data(number));
}
template <std::int64_t number>
Contents full_of_like(const KernelCall& call) {
  return filled(call, sizes_of(call.tensor("self")), scalar_data(number));
}

Contents scalar_tensor(const KernelCall& call) {
  return filled(call, {}, call.operand("s"));
}

// Returns the length of a range like torch: for i64, the fractions of both ends and of the step are dropped
// first.
Result<std::int64_t> range_count(double start, double end, double step, ScalarType dtype) {
  if (dtype == ScalarType::I64) {
    start = std::trunc(start);
    end = std::trunc(end);
    step = std::trunc(step);
  }
  double count = std::ceil((end - start) / step);
  if (!(count >= 0 && count < 0x1p53)) return bad_arguments("the range is infinite or empty");
  return static_cast<std::int64_t>(count);
}

// Returns start, start + step, ... before end.
Contents arange(const KernelCall& call) {
  TensorData start = call.has("start") ? call.operand("start") : scalar_data(std::int64_t{0});
  TensorData step = call.has("step") ? call.operand("step") : scalar_data(std::int64_t{1});
  ScalarType dtype = call.result_type();
  TRY(std::int64_t count, range_count(Elements<double>(start)[0], Elements<double>(call.operand("end"))[0],
                                      Elements<double>(step)[0], dtype));
  TRY(Domain domain, domain_of(dtype));
  return in_domain(domain, [&]<typename T>(T) {
    using Number = Sum<T>;
    Number from = Elements<Number>(start)[0];
    Number by = Elements<Number>(step)[0];
    return one(call.dense(dtype, {count}, [dtype, from, by, count] {
      std::vector<T> numbers;
      numbers.reserve(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) {
        numbers.push_back(static_cast<T>(wrap_add(from, wrap_mul(static_cast<Number>(i), by))));
      }
      return pack<T>(dtype, numbers);
    }));
  });
}

}  // namespace

std::span<const KernelLine> creation_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.full.default", full},
      {"aten.full_like.default", full_like},
      {"aten.new_full.default", full},
      {"aten.fill.Scalar", fill},
      {"aten.fill.Tensor", fill},
      {"aten.zeros.default", full_of<0>},
      {"aten.ones.default", full_of<1>},
      {"aten.new_zeros.default", full_of<0>},
      {"aten.new_ones.default", full_of<1>},
      {"aten.zeros_like.default", full_of_like<0>},
      {"aten.ones_like.default", full_of_like<1>},
      {"aten.empty.memory_format", full_of<0>},
      {"aten.new_empty.default", full_of<0>},
      {"aten.empty_permuted.default", full_of<0>},
      {"aten.empty_like.default", full_of_like<0>},
      {"aten.scalar_tensor.default", scalar_tensor},
      {"aten.arange.default", arange},
      {"aten.arange.start", arange},
      {"aten.arange.start_step", arange},
  };
  return lines;
}

}  // namespace depute::internal
