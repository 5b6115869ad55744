// Whether a .pte computes what its model does, and if not, the first delegate or kernel that differs.
//
//   DEPUTE_TRY(const auto expected, reference_outputs(model, "forward", inputs));
//   DEPUTE_TRY(const auto actual, run({bytes, &executable}, "forward", inputs));
//   DEPUTE_TRY(std::vector<OutputError> errors, compare_outputs(expected, actual, {.tolerance = 1e-3}));
//   const Program& program = executable.program();
//   DEPUTE_TRY(FaultSearch search, find_fault(compiler, program, {}, "forward", inputs, {}, run));
//   std::string text = str(*search.fault);   // "delegate xnnpack3, XnnpackBackend (model.py:12): ..."
//
// To find the fault, the same program is run with all tensors between delegates and kernels as outputs. The fault is the first
// node that differs although its operands do not. A delegate is then run alone, on the reference's values. Bodies of control
// flow are programs of their own, run once for each of their calls.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/compiler/compiler.h"
#include "depute/program/interpret.h"

namespace depute {

// A program to execute, and the program that it was written from; null: unknown. A runner may execute delegates that its runtime
// lacks by their originals there.
struct RunnablePte {
  std::span<const std::byte> bytes;
  const Executable* executable = nullptr;
};

// Executes a method of a .pte once, on its inputs without data, and returns its outputs.
using PteRunner = std::function<Result<std::vector<RuntimeValue>>(
    const RunnablePte& pte, const std::string& method, std::span<const RuntimeValue> inputs)>;

// When an output is right.
struct Accuracy {
  double tolerance = 1e-3;  // the largest OutputError::relative
  // The least OutputError::snr, in place of `tolerance`.
  std::optional<double> min_snr = {};
  // A measure of the caller's, of which `tolerance` is the largest right value. The tensors have equal types.
  std::function<Result<double>(const RuntimeValue& expected, const RuntimeValue& actual)> gap = {};
};

// Difference of an output from the reference.
struct OutputError {
  std::string name = {};
  double absolute = 0;  // largest difference of two elements
  double relative = 0;  // to the reference's largest finite element
  // Signal-to-noise ratio in dB: the reference's energy over that of the difference, of finite elements.
  double snr = std::numeric_limits<double>::infinity();
  std::optional<double> gap = {};  // Accuracy::gap
  bool is_right = true;            // accurate, and kind, element type and sizes are equal
  std::string note = {};           // "f32[2] instead of f32[3]"
};

// A call of a body of the control flow whose first result is `name`.
struct BodyCall {
  std::string name = {};
  std::string op = {};
  std::string body = {};
  std::size_t call = 0;  // number of the call of this body, from 0: the iteration of a loop
};

// The first delegate or kernel that differs.
struct Fault {
  std::string kind = {};    // "delegate", "kernel" or "control flow": that no call of its bodies differs in
  std::string name = {};    // of the delegate, or of the node's result
  std::string target = {};  // backend id, or op
  std::vector<std::string> sources = {};  // lines of the model
  OutputError error = {};                 // of a delegate: alone, on the reference's values
  std::vector<BodyCall> inside = {};      // outermost first
  // At its border. `inputs` are those of a delegate.
  std::vector<RuntimeValue> inputs = {};
  std::vector<RuntimeValue> expected = {};
  std::vector<RuntimeValue> actual = {};
  std::vector<std::byte> pte = {};  // a program of the delegate alone
};

struct FaultSearch {
  std::optional<Fault> fault = {};
  std::string note = {};  // why there is no fault
};

struct Verification {
  std::string reference = {};  // what computed the reference: "Depute's reference kernels"
  std::vector<OutputError> outputs = {};
  FaultSearch search = {};
  std::string folder = {};  // where the values at the fault's border were saved
  std::size_t runs = 0;     // in ExecuTorch's runtime
  // By backend: delegates that reference kernels executed, since the runtime lacks the backend. They were not verified.
  std::map<std::string, std::size_t> stand_ins = {};

  DEPUTE_API bool is_right() const;
};

struct FaultLimits {
  std::size_t delegates = 5;      // that are run alone
  std::size_t body_calls = 1000;  // of each node of control flow
};

// NaN equals NaN, and each infinity equals itself. Numbers are compared as tensors of one element. Fails if
// accuracy.gap does.
DEPUTE_API Result<OutputError> compare_output(std::string_view name, const RuntimeValue& expected,
                                              const RuntimeValue& actual, const Accuracy& accuracy);
DEPUTE_API Result<std::vector<OutputError>> compare_outputs(std::span<const RuntimeValue> expected,
                                                            std::span<const RuntimeValue> actual,
                                                            const Accuracy& accuracy);

// The user outputs that the reference kernels compute; state is not among them.
DEPUTE_API Result<std::vector<RuntimeValue>> reference_outputs(const Program& program,
                                                               std::string_view method,
                                                               std::span<const RuntimeValue> inputs);

// `program` is the one of the .pte, as it was written with `options`. Fails if the runner fails or the reference kernels lack an
// op.
DEPUTE_API Result<FaultSearch> find_fault(const Compiler& compiler, const Program& program,
                                          const WriteOptions& options, const std::string& method,
                                          std::span<const RuntimeValue> inputs, const Accuracy& accuracy,
                                          const PteRunner& run, FaultLimits limits = {});

DEPUTE_API std::string verification_text(const Verification& verification);
DEPUTE_API std::string verification_json(const Verification& verification);

// "output 0: largest difference 0.00012, 3e-05 of the largest value, SNR 95.2 dB: ok"
DEPUTE_API std::string str(const OutputError& error);
// "delegate delegate_3, XnnpackBackend (model.py:12), in call 2 of body_0 in while_1: output 0: ..."
DEPUTE_API std::string str(const Fault& fault);

}  // namespace depute
