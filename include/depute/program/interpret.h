// Interpreter: runs whole programs, lowered or not, with the reference kernels.
//
//   DEPUTE_TRY(auto expected, interpret(program, method, inputs));
//   DEPUTE_TRY(auto actual, interpret(lowered, *lowered.find_method("forward"), inputs));
//
// A delegate runs as its original subprogram, an op without a kernel as its decomposition, and control flow
// as its bodies.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "depute/program/kernels.h"

#pragma GCC visibility push(default)

namespace depute {

// Maximum nesting of bodies, delegates and decompositions.
inline constexpr int max_interpreted_depth = 32;
// Maximum number of iterations of one loop.
inline constexpr std::int64_t max_loop_iterations = 1'000'000;

// Returns the contents of the method's outputs in order, including mutations. `inputs` are the method's
// inputs without data in the program, in order; None stands for custom objects and tokens. Fails if an op has
// neither kernel nor decomposition, or if a limit above is exceeded.
Result<std::vector<RuntimeValue>> interpret(const Program& program, const Method& method,
                                            std::span<const RuntimeValue> inputs);

// Called before each call of a control-flow body, including nested bodies. Gets the node, the index of the
// argument that is the body, and the contents of the body's inputs.
using BodyObserver =
    std::function<void(const Node& node, std::size_t argument, std::span<const RuntimeValue> inputs)>;

Result<std::vector<RuntimeValue>> interpret(const Program& program, const Method& method,
                                            std::span<const RuntimeValue> inputs,
                                            const BodyObserver& observe);

// State of a loaded program between calls: mutated buffers, and the state of its delegates. Contains only
// buffers that have been written.
struct ProgramState {
  std::map<Name, TensorData, SymbolTextLess> data;                          // by data key
  std::map<Name, std::unique_ptr<ProgramState>, SymbolTextLess> delegates;  // by name
};

// Runs the method on a loaded program: mutated buffers are read from `state` and written back to it. Results
// do not include these buffers.
Result<std::vector<RuntimeValue>> interpret(const Program& program, const Method& method,
                                            std::span<const RuntimeValue> inputs, ProgramState& state);

}  // namespace depute

#pragma GCC visibility pop
