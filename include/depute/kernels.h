// Reference kernels: what an op computes, on tensors that are known. Constant folding runs them, and so does
// the interpreter that judges lowered programs.
//
//   Content x = make_data<float>(ScalarType::F32, {2}, {-1.0f, 2.0f});
//   DEPUTE_TRY(auto results, run_kernel(relu_node, [&](const Value&) { return &x; }));      // {0, 2}
//
// Floats are computed in f32 (f64 for f64), sums and products of many terms in f64; integers wrap. Inputs may
// be strided views of their storages, and the ops on views give such views again: no element moves. Every
// other result is dense; a large one is only computed when its bytes are first asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

// What a value holds: a tensor, or the number of a symbolic value. Nothing stands for None.
using Content = std::variant<std::monostate, TensorData, std::int64_t, double, bool>;

// What a value of the graph holds; null when that is not known.
using ContentOf = std::function<const Content*(const Value& value)>;

// Work on fewer bytes than this is done at once, other work when its result is needed.
inline constexpr std::size_t max_eager_bytes = std::size_t{64} << 10;
// A result larger than this is refused.
inline constexpr std::size_t max_kernel_result_bytes = std::size_t{1} << 34;

bool has_kernel(Symbol op);

// The contents of the node's results. Fails when the op has no kernel, when an operand's content is not
// known, does not have the operand's type, or is nothing the op can be computed on (an index out of range, a
// division of integers by zero), and when a result does not fit the type the graph gives it.
Result<std::vector<Content>> run_kernel(const Node& node, const ContentOf& content_of);

// A content as an operand's or result's type has it: the kind, the element type, the sizes that are constant.
bool fits_type(const Content& content, const Type& type);

}  // namespace depute

#pragma GCC visibility pop
