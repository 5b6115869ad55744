// `depute run`: what is asked of ExecuTorch's runtime, and what it answered. The runtime is called by the program
// depute-run (runtime/), so that the compiler links none of it.
//
//   TRY(const PteContents pte, read_pte(bytes, "model.pte"));
//   TRY(const RunCall call, call_of_arrays(pte.methods[0], arrays, "x.npz"));
//   const RunRequest request{.program = bytes, .name = "model.pte", .method = "forward", .calls = {call}};
//   TRY(const RunResult result, run_program(request, pte.methods[0]));
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "depute/program/data.h"
#include "depute/program/interpret.h"
#include "depute/program/program.h"
#include "depute/program/result.h"
#include "depute/tools/bundle.h"
#include "depute/tools/verify.h"
#include "schema/execution_plan.h"

namespace depute {

// The arguments of one call, in the order of the method's inputs.
using RunCall = std::vector<RuntimeValue>;

struct RunRequest {
  std::span<const std::byte> program;  // a .pte, which outlives the run
  std::string name;                    // of its file, for messages
  std::string method;
  std::vector<std::string> data_files = {};  // .ptd
  std::vector<std::string> plugins = {};     // shared libraries that register backends or kernels
  // Originals of all delegates of the method, in order; may be empty. The reference kernels execute those of the backends
  // that `stand_ins` names; if it is empty, those of the backends that the runtime lacks.
  std::vector<std::shared_ptr<const Program>> originals = {};
  std::vector<std::string> stand_ins = {};
  bool keeps_backends =
      false;  // true: backends that ExecuTorch's package has are loaded before it is known what is lacking
  std::vector<RunCall> calls = {};  // state is kept from call to call, unless:
  bool loads_anew =
      false;  // true: each call is the first one of a loaded method, when calls are made the first time
  std::uint64_t repeat = 1;  // how often all calls are made; results are those of the first time
  int threads = 0;           // 0: as many as the runtime chooses
  bool is_traced = false;
  bool traces_values = false;  // trace what instructions compute, too
};

// Memory in bytes. Sizes of allocators are those that an application has to provide.
struct RunMemory {
  std::uint64_t method = 0;   // method allocator: tables of values and instructions, and what delegates keep
  std::uint64_t planned = 0;  // arenas for values
  std::uint64_t temporary = 0;  // most that kernels and delegates asked the temporary allocator for at once
  std::uint64_t outputs = 0;    // results that the program has no memory for
  std::uint64_t loading = 0;    // what loading took from the heap otherwise, packed weights for instance
  std::uint64_t process = 0;    // highest resident size of the process
};

struct RunResult {
  std::string program;
  std::string method;
  std::uint64_t load_ns = 0;
  std::vector<std::vector<std::uint64_t>> call_ns = {};  // of each call, one for each repetition
  RunMemory memory = {};
  std::vector<std::vector<RuntimeValue>> outputs = {};  // of each call
  std::vector<std::byte> dump = {};                     // ETDump, if traced
  std::vector<std::byte> values = {};                   // elements of the tensors that the dump names
  std::map<std::string, std::size_t> stand_ins =
      {};  // by backend: delegates that the reference kernels executed
  // Of each call, if the calls are the test cases of a bundled program: the verdicts of its outputs; none if nothing is expected.
  std::vector<std::vector<OutputError>> verdicts = {};
};

// "forward(f32[2, 16]) -> (f32[2, 4])", with upper bounds for sizes that are open.
std::string signature(const ExecutionPlan& method);

// A call with these arrays, one for each input but none: by their order, or by number if they are called arr_0, arr_1, ... (numpy.savez without
// names). Fails with the signature if they do not fit.
Result<RunCall> call_of_arrays(const ExecutionPlan& method, const NamedArrays& arrays,
                               const std::string& file);

// Outputs of a call, as call_of_arrays() reads its inputs.
Result<RunCall> results_of_arrays(const ExecutionPlan& method, const NamedArrays& arrays,
                                  const std::string& file);

// A call with random numbers, the same each time: floats of a normal distribution, integers and bools 0 or 1. Open sizes
// have their upper bounds, and inputs that are numbers the value that they were exported with: a runtime takes no other.
Result<RunCall> random_call(const ExecutionPlan& method);

// The test case with its values as the method takes and returns them. Fails with the signature if they do not fit, as
// bundle_program() does. `place` names the test case.
Result<TestCase> fitting_case(const ExecutionPlan& method, const TestCase& test, const std::string& place);

// The elements one after the other in this order of dimensions, as the runtime takes them.
TensorData ordered(const TensorData& data, std::span<const std::uint8_t> order);

// A number as a tensor without dimensions; none has no storage.
TensorData as_tensor(const RuntimeValue& value);

// The results of all calls as arrays: "output_0", of several calls "call_1.output_0". Leaves out what is none.
NamedArrays result_arrays(const RunResult& result);

// Element types that numpy lacks become f32.
NamedArrays for_numpy(NamedArrays arrays);

// "f32[2, 4], mean -1.52, deviation 0.348, -2.11 to -0.934"
std::string statistics_text(const TensorData& data);

std::string run_text(const RunResult& result, bool has_color);
std::string run_json(const RunResult& result);

}  // namespace depute
