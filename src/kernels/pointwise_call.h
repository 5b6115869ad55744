// Kernels that compute element by element, made from a function on numbers:
//
//   {"aten.neg.default", unary<[](auto x) { return wrap_sub(decltype(x){0}, x); }>}
//   {"aten.add.Tensor", binary<[](auto a, auto b, auto alpha) { return a + alpha * b; }, 1>}
//
// The function is called with float, double or std::int64_t, all arguments of the same type.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "kernels/kernel_call.h"

namespace depute::internal {

// `count` numbers of the call from argument `first` on, as T.
template <typename T, std::size_t count>
std::array<T, count> numbers_from(const KernelCall& call, std::size_t first) {
  std::array<T, count> numbers{};
  for (std::size_t i = 0; i < count; ++i) numbers[i] = Elements<T>(call.operand(first + i))[0];
  return numbers;
}

// fn(one element of each input..., the call's numbers from argument `first` on...) for all elements.
template <auto fn, std::size_t numbers = 0, std::size_t count>
Contents pointwise(const KernelCall& call, std::array<TensorData, count> inputs, std::size_t first = count) {
  TRY(Domain domain, domain_of(call.compute_type()));
  Shape sizes;
  for (const TensorData& input : inputs) {
    TRY_STATUS(check_arithmetic(input.type.dtype));
    TRY(sizes, broadcast_sizes(sizes, sizes_of(input)));
  }
  for (TensorData& input : inputs) input = broadcast_to(input, sizes);
  ScalarType dtype = call.result_type();
  return in_domain(domain, [&]<typename T>(T) {
    auto literals = numbers_from<T, numbers>(call, first);
    return one(call.dense(dtype, sizes, [inputs = std::move(inputs), literals, dtype] {
      return [&]<std::size_t... i, std::size_t... k>(std::index_sequence<i...>, std::index_sequence<k...>) {
        std::array<Elements<T>, count> elements = {Elements<T>(inputs[i])...};
        std::vector<T> results(elements[0].size());
        for (std::size_t n = 0; n < results.size(); ++n) {
          results[n] = static_cast<T>(fn(elements[i][n]..., literals[k]...));
        }
        return pack<T>(dtype, results);
      }(std::make_index_sequence<count>(), std::make_index_sequence<numbers>());
    }));
  });
}

template <auto fn, std::size_t numbers = 0>
Contents unary(const KernelCall& call) {
  return pointwise<fn, numbers>(call, std::array{call.operand(0)});
}

template <auto fn, std::size_t numbers = 0>
Contents binary(const KernelCall& call) {
  return pointwise<fn, numbers>(call, std::array{call.operand(0), call.operand(1)});
}

template <auto fn, std::size_t numbers = 0>
Contents ternary(const KernelCall& call) {
  return pointwise<fn, numbers>(call, std::array{call.operand(0), call.operand(1), call.operand(2)});
}

}  // namespace depute::internal
