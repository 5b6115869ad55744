// Interpreter: runs whole programs, lowered or not, with the reference kernels.
//
//   DEPUTE_TRY(auto expected, interpret(program, method, inputs));
//   DEPUTE_TRY(auto actual, interpret(lowered, *lowered.find_method("forward"), inputs));
//
// A delegate runs as its original subprogram, an op without a kernel as its decomposition, and control flow
// as its bodies.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "depute/api.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// --- values and kernels
//
// Reference kernels: compute an op on known tensors. Used by constant folding and by the interpreter that
// checks lowered programs.
//
//   RuntimeValue x = make_data<float>(ScalarType::F32, {2}, {-1.0f, 2.0f});
//   DEPUTE_TRY(auto results, run_kernel(relu_node, [&](const Value&) { return &x; }));      // {0, 2}
//
// Floats are computed in f32 (f64 for f64), sums and products of many terms in f64; integers wrap around.
// Inputs may be strided views, and view ops return views of the same storage. All other results are dense; a
// large result is computed when its bytes are first read.

// Runtime value: a tensor, a symbolic scalar, or monostate for None.
using RuntimeValue = std::variant<std::monostate, TensorData, std::int64_t, double, bool>;

// Returns the content of a value of the graph, or null if it is unknown.
using RuntimeValueOf = std::function<const RuntimeValue*(const Value& value)>;

// Results below this many bytes are computed at once, larger ones on first use.
inline constexpr std::size_t max_eager_bytes = std::size_t{64} << 10;
// A kernel fails if its result is larger than this many bytes.
inline constexpr std::size_t max_kernel_result_bytes = std::size_t{1} << 34;

DEPUTE_API bool has_kernel(Name op);

// Returns the contents of the node's results. Fails if the op has no kernel, or an operand is unknown or does
// not fit its type. Fails if the op is undefined for the operands (index out of range, integer division by
// zero), or a result does not fit its type in the graph.
DEPUTE_API Result<std::vector<RuntimeValue>> run_kernel(const Node& node, const RuntimeValueOf& content_of);

// True if a content has the kind, the element type and the constant sizes of `type`.
DEPUTE_API bool fits_type(const RuntimeValue& content, const Type& type);

// --- programs

// Maximum nesting of bodies, delegates and decompositions.
inline constexpr int max_interpreted_depth = 32;
// Maximum number of iterations of one loop.
inline constexpr std::int64_t max_loop_iterations = 1'000'000;

// Returns the contents of the method's outputs in order, including mutations. `inputs` are the method's
// inputs without data in the program, in order; None stands for custom objects and tokens. Fails if an op has
// neither kernel nor decomposition, or if a limit above is exceeded.
DEPUTE_API Result<std::vector<RuntimeValue>> interpret(const Program& program, const Method& method,
                                                       std::span<const RuntimeValue> inputs);

// Called before each call of a control-flow body, including nested bodies. Gets the node, the index of the
// argument that is the body, and the contents of the body's inputs.
using BodyObserver =
    std::function<void(const Node& node, std::size_t argument, std::span<const RuntimeValue> inputs)>;

DEPUTE_API Result<std::vector<RuntimeValue>> interpret(const Program& program, const Method& method,
                                                       std::span<const RuntimeValue> inputs,
                                                       const BodyObserver& observe);

// State of a loaded program between calls: mutated buffers, and the state of its delegates. Contains only
// buffers that have been written.
struct ProgramState {
  std::map<Name, TensorData, SymbolTextLess> data;                          // by data key
  std::map<Name, std::unique_ptr<ProgramState>, SymbolTextLess> delegates;  // by name
};

// For the nodes of the method's own graph, not of bodies. Each may be empty.
struct NodeHooks {
  // Returns the results of a node that need not be computed, or null.
  std::function<const std::vector<RuntimeValue>*(const Node& node)> known = {};
  std::function<void(const Node& node, std::span<const RuntimeValue> results)> observe = {};
};

// Runs the method on a loaded program: mutated buffers are read from `state` and written back to it. Results
// do not include these buffers.
DEPUTE_API Result<std::vector<RuntimeValue>> interpret(const Program& program, const Method& method,
                                                       std::span<const RuntimeValue> inputs,
                                                       ProgramState& state, const NodeHooks& hooks = {});

}  // namespace depute
