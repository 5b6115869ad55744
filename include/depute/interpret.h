// Runs whole programs with the reference kernels: what they compute, whoever they are lowered to.
//
//   DEPUTE_TRY(auto expected, interpret(program, method, inputs));
//   DEPUTE_TRY(auto actual, interpret(lowered, *lowered.find_method("forward"), inputs));
//
// A delegate runs as the program it was made from, an op without a kernel as its decomposition, control flow
// as its bodies.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "depute/kernels.h"

#pragma GCC visibility push(default)

namespace depute {

// Nesting of bodies, delegates and decompositions that is still run.
inline constexpr int max_interpreted_depth = 32;
// Turns of one loop that are still run.
inline constexpr std::int64_t max_loop_turns = 1'000'000;

// The contents of the method's outputs, mutations included, in order. `inputs` are those of its inputs that
// have no data in the program, in order; None stands for custom objects and tokens.
Result<std::vector<Content>> interpret(const Program& program, const Method& method,
                                       std::span<const Content> inputs);

// Told before each call of a body of control flow, those inside of bodies included: the node, which of its
// arguments the body is, and what the body's inputs hold.
using BodyObserver =
    std::function<void(const Node& node, std::size_t argument, std::span<const Content> inputs)>;

Result<std::vector<Content>> interpret(const Program& program, const Method& method,
                                       std::span<const Content> inputs, const BodyObserver& observe);

// What a loaded program keeps between calls: the mutated buffers, and those inside its delegates. One that
// has never been written is not in it.
struct ProgramState {
  std::map<Symbol, TensorData, SymbolTextLess> data;                          // by data key
  std::map<Symbol, std::unique_ptr<ProgramState>, SymbolTextLess> delegates;  // by name
};

// The same call on a loaded program: mutated buffers are read from `state` and written to it, and are not
// among the results.
Result<std::vector<Content>> interpret(const Program& program, const Method& method,
                                       std::span<const Content> inputs, ProgramState& state);

}  // namespace depute

#pragma GCC visibility pop
