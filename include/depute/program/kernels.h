// Reference kernels: compute an op on known tensors. Used by constant folding and by the interpreter that
// checks lowered programs.
//
//   RuntimeValue x = make_data<float>(ScalarType::F32, {2}, {-1.0f, 2.0f});
//   DEPUTE_TRY(auto results, run_kernel(relu_node, [&](const Value&) { return &x; }));      // {0, 2}
//
// Floats are computed in f32 (f64 for f64), sums and products of many terms in f64; integers wrap around.
// Inputs may be strided views, and view ops return views of the same storage. All other results are dense; a
// large result is computed when its bytes are first read.
#pragma once

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

// Runtime value: a tensor, a symbolic scalar, or monostate for None.
using RuntimeValue = std::variant<std::monostate, TensorData, std::int64_t, double, bool>;

// Returns the content of a value of the graph, or null if it is unknown.
using RuntimeValueOf = std::function<const RuntimeValue*(const Value& value)>;

// Results below this many bytes are computed at once, larger ones on first use.
inline constexpr std::size_t max_eager_bytes = std::size_t{64} << 10;
// A kernel fails if its result is larger than this many bytes.
inline constexpr std::size_t max_kernel_result_bytes = std::size_t{1} << 34;

bool has_kernel(Name op);

// Returns the contents of the node's results. Fails if the op has no kernel, or an operand is unknown or does
// not fit its type. Fails if the op is undefined for the operands (index out of range, integer division by
// zero), or a result does not fit its type in the graph.
Result<std::vector<RuntimeValue>> run_kernel(const Node& node, const RuntimeValueOf& content_of);

// True if a content has the kind, the element type and the constant sizes of `type`.
bool fits_type(const RuntimeValue& content, const Type& type);

}  // namespace depute

#pragma GCC visibility pop
