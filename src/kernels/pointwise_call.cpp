// Shared by all elementwise kernels: types, broadcasting, and lazy evaluation.
#include "kernels/pointwise_call.h"
#include "support/try.h"

#include <vector>

namespace depute::internal {
namespace {

template <typename T>
PointwiseLoop<T> loop_of(const PointwiseLoops& loops) {
  if constexpr (std::is_same_v<T, float>) return loops.floats;
  if constexpr (std::is_same_v<T, double>) return loops.doubles;
  if constexpr (std::is_same_v<T, std::int64_t>) return loops.ints;
}

template <typename T>
std::vector<T> numbers_from(const KernelCall& call, std::size_t first, std::size_t count) {
  std::vector<T> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(Elements<T>(call.operand(first + i))[0]);
  return numbers;
}

template <typename T>
std::vector<std::byte> compute(PointwiseLoop<T> loop, std::span<const TensorData> inputs,
                               const std::vector<T>& numbers, ScalarType dtype) {
  std::vector<Elements<T>> elements;
  elements.reserve(inputs.size());  // elements contain pointers to themselves
  std::vector<const T*> starts;
  for (const TensorData& input : inputs) starts.push_back(elements.emplace_back(input).span().data());
  std::vector<T> results(elements.front().size());
  loop(starts.data(), numbers.data(), results);
  return pack<T>(dtype, results);
}

}  // namespace

Contents run_pointwise(const KernelCall& call, const PointwiseLoops& loops,
                       std::span<const TensorData> inputs) {
  TRY(Domain domain, domain_of(call.compute_type()));
  Shape sizes;
  for (const TensorData& input : inputs) {
    TRY_STATUS(check_arithmetic(input.type.dtype));
    TRY(sizes, broadcast_sizes(sizes, sizes_of(input)));
  }
  std::vector<TensorData> wide;
  for (const TensorData& input : inputs) wide.push_back(broadcast_to(input, sizes));
  ScalarType dtype = call.result_type();
  return in_domain(domain, [&]<typename T>(T) {
    std::vector<T> numbers = numbers_from<T>(call, inputs.size(), loops.numbers);
    return one(call.dense(dtype, sizes,
                          [loop = loop_of<T>(loops), wide = std::move(wide), numbers = std::move(numbers),
                           dtype] { return compute<T>(loop, wide, numbers, dtype); }));
  });
}

}  // namespace depute::internal
