// Backend ops: ops of a backend's own that stand for a pattern of Core ATen ops.
//
//   TRY_STATUS(add_backend_library("my_chip"));
//   TRY_STATUS(register_backend_op({.name = "my_chip.mul_relu.default", .pattern = R"(program
//     method mul_relu(%a: none, %b: none) {
//       %m: none = aten.mul.Tensor(%a, %b)
//       %r: none = aten.relu.default(%m)
//       return %r
//     })"}));
//   TRY(std::size_t replaced, bind_backend_ops(program, {Symbol("my_chip.mul_relu.default")}));
//
// The op's arguments are the pattern's inputs and its results what the pattern returns; their types follow
// from the pattern, so that the op needs no rule of its own. Unlike a delegate it stays an op of the program:
// a backend may take it like any other, and outside of delegates it runs on its kernel. One without a kernel
// cannot be emitted there; expand_backend_ops() gives back what it stands for.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "partition/pattern.h"
#include "support/result.h"

namespace depute {

// What a backend registers.
struct BackendOpSpec {
  std::string name;  // "library.op.overload"
  std::string
      pattern;  // one method in the notation of pattern.h; every argument spelled out, every input used
  std::string kernel;  // its out variant in the runtime, "my_chip::mul_relu.out"; empty: none
  friend bool operator==(const BackendOpSpec&, const BackendOpSpec&) = default;
};

struct BackendOp {
  Symbol name;
  BackendOpSpec spec;
  std::string schema;  // "my_chip.mul_relu.default(Tensor a, Tensor b) -> Tensor"
  Pattern pattern;     // what it stands for
};

// The libraries that ops may be in. Three are there from the start, with ExecuTorch's meaning:
// executorch_prim (symbolic arithmetic of the runtime), quantized_decomposed (quantisation, which backends
// look for in patterns) and DO_NOT_USE_TEST_ONLY.
std::vector<std::string> backend_libraries();
Status add_backend_library(std::string_view library);  // letters, digits and '_'; known ones are fine

// For the rest of the process. Refuses an unknown library, a name that is taken, and a pattern that cannot be
// what an op stands for. Registering the same again is fine. Thread-safe.
Status register_backend_op(const BackendOpSpec& spec);

const BackendOp* find_backend_op(Symbol name);  // null for all other ops; the link to the original
// The overloads of "library.op", as op names in the order of their registration; those of the op table too.
std::vector<std::string> backend_op_packet(std::string_view packet);

// Puts the ops in the place of what their patterns match, in all graphs; earlier names are tried first. Gives
// how many were placed. A new node has the debug handle and the source of the last node it stands for;
// Node::replaced has those of all.
Result<std::size_t> bind_backend_ops(Program& program, std::span<const Symbol> names);

// Puts the patterns in the place of backend ops: all, or those without a kernel. Gives how many.
enum class BackendOpsToExpand : std::uint8_t { All, WithoutKernel };
Result<std::size_t> expand_backend_ops(Program& program, BackendOpsToExpand which);

}  // namespace depute
