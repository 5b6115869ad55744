// Builds kernels that compute element by element from a function on numbers:
//
//   {"aten.neg.default", unary<[](auto x) { return wrap_sub(decltype(x){0}, x); }>}
//   {"aten.add.Tensor", binary<[](auto a, auto b, auto alpha) { return a + alpha * b; }, 1>}
//
// The function is called with float, double or std::int64_t; all arguments have the same type.
#pragma once

#include <array>
#include <span>
#include <utility>

#include "kernels/kernel_call.h"

namespace depute::internal {

// Applies a function along rows: results[n] = fn(inputs[0][n], inputs[1][n], ..., numbers[0], ...).
template <typename T>
using PointwiseLoop = void (*)(const T* const* inputs, const T* numbers, std::span<T> results);

// The loops of one function. Only they are compiled for each function; the code around them is shared.
struct PointwiseLoops {
  std::size_t numbers;  // number arguments of the call after the inputs
  PointwiseLoop<float> floats;
  PointwiseLoop<double> doubles;
  PointwiseLoop<std::int64_t> ints;
};

template <typename T, auto fn, std::size_t inputs, std::size_t numbers>
void pointwise_loop(const T* const* input, const T* number, std::span<T> results) {
  [&]<std::size_t... i, std::size_t... k>(std::index_sequence<i...>, std::index_sequence<k...>) {
    for (std::size_t n = 0; n < results.size(); ++n) {
      results[n] = static_cast<T>(fn(input[i][n]..., number[k]...));
    }
  }(std::make_index_sequence<inputs>(), std::make_index_sequence<numbers>());
}

template <auto fn, std::size_t inputs, std::size_t numbers>
constexpr PointwiseLoops pointwise_loops = {numbers, pointwise_loop<float, fn, inputs, numbers>,
                                            pointwise_loop<double, fn, inputs, numbers>,
                                            pointwise_loop<std::int64_t, fn, inputs, numbers>};

// Runs the loop for the call's type over all elements of the broadcast inputs. The numbers are the call's
// arguments after the inputs.
Contents run_pointwise(const KernelCall& call, const PointwiseLoops& loops,
                       std::span<const TensorData> inputs);

template <auto fn, std::size_t numbers = 0, std::size_t count>
Contents pointwise(const KernelCall& call, const std::array<TensorData, count>& inputs) {
  return run_pointwise(call, pointwise_loops<fn, count, numbers>, inputs);
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
