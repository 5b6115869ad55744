// The rule of ExecuTorch's verification, which is by element, applied to what compare_outputs() measures:
//
//   expected 1.0, result 1.00001, rtol 1e-5   |a - b| = 1e-5 <= 1e-8 + 1.00001e-5: right
#include "tools/bundle/check_case.h"

#include <cmath>
#include <limits>

#include "kernels/tensors.h"

namespace depute {
namespace {

// T is the type in which the runtime subtracts.
template <typename T>
bool is_close(const TensorData& expected, const TensorData& result, const CaseTolerance& tolerance) {
  const internal::Elements<T> a(expected);
  const internal::Elements<T> b(result);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const T error = std::abs(a[i] - b[i]);
    const double allowed = tolerance.atol + std::abs(tolerance.rtol * static_cast<double>(b[i]));
    if (!std::isfinite(error) || static_cast<double>(error) > allowed) return false;
  }
  return true;
}

bool is_right(const TensorData& expected, const TensorData& result, const CaseTolerance& tolerance) {
  switch (expected.type.dtype) {
    case ScalarType::F32:
      return is_close<float>(expected, result, tolerance);
    case ScalarType::F64:
    case ScalarType::F16:
      return is_close<double>(expected, result, tolerance);
    default: {
      const TensorData a = expected.contiguous();
      const TensorData b = result.contiguous();
      return std::ranges::equal(a.dense_bytes(), b.dense_bytes());
    }
  }
}

}  // namespace

std::vector<OutputError> check_case(const TestCase& test, std::span<const RuntimeValue> results,
                                    const CaseTolerance& tolerance) {
  // Values that differ in kind, type or sizes are wrong, whatever the tolerance.
  std::vector<OutputError> errors =
      *compare_outputs(test.expected, results, {.tolerance = std::numeric_limits<double>::max()});
  if (test.expected.size() != results.size()) return errors;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const auto* expected = std::get_if<TensorData>(&test.expected[i]);
    const auto* result = std::get_if<TensorData>(&results[i]);
    if (!errors[i].note.empty() || expected == nullptr || result == nullptr) continue;
    errors[i].is_right = is_right(*expected, *result, tolerance);
  }
  return errors;
}

}  // namespace depute
