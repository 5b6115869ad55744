// depute verify: compares a .pte in ExecuTorch's runtime with its model, computed by the reference kernels. `depute` checks the
// options, then becomes depute-run (tools/run/runner.h), which does the rest.
//
//   depute verify model.pt2 model.pte --backend xnnpack --inputs x.npz
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/request.h"
#include "depute/compiler/compiler.h"
#include "depute/tools/verify.h"
#include "read/npz.h"
#include "read/pte.h"
#include "read/read_program.h"
#include "support/mapped_file.h"
#include "support/output_set.h"
#include "support/try.h"
#include "tools/bundle/program_part.h"
#include "tools/run/run.h"
#include "tools/run/runner.h"
#include "tools/run/stand_ins.h"
#include "write/write_npz.h"

namespace depute {
namespace {

struct VerifyArguments {
  RequestArguments request;
  std::string pte;
  std::string inputs;
  std::string method;
  std::string tolerance;
  std::string min_snr;
  std::string save_to;
  std::vector<std::string> ptd;
  std::vector<std::string> plugins;
  std::string runtime;
  bool json = false;
};

std::vector<Option> verify_options(VerifyArguments& arguments) {
  return joined(
      {{.names = "MODEL",
        .target = &arguments.request.model,
        .help = "The .pt2 or .ir file from which the .pte was lowered",
        .is_required = true},
       {.names = "PTE",
        .target = &arguments.pte,
        .help = "The program to check, .pte or .bpte",
        .is_required = true},
       {"--inputs", &arguments.inputs, "Arrays for the inputs, in order; by default random numbers",
        "FILE.npz"},
       {"--method", &arguments.method, "Which one to check, if the program has several", "NAME"},
       {"--tolerance", &arguments.tolerance,
        "Largest accepted difference of an output, relative to its largest value; by default 0.001",
        "NUMBER"},
       {"--min-snr", &arguments.min_snr,
        "Least accepted signal-to-noise ratio of an output in dB, instead of --tolerance", "DB"},
       {"--save-to", &arguments.save_to,
        "Folder for the operands and results of what differs, and for a program of the delegate alone",
        "DIR"},
       {"--ptd", &arguments.ptd, "A file with constants that the program refers to", "FILE.ptd"},
       {"--plugin", &arguments.plugins, "Load a library that registers a backend or kernels first",
        "FILE.so"},
       runtime_option(arguments.runtime),
       {"--json", &arguments.json, "As JSON"}},
      lowering_options(arguments.request));
}

Result<Accuracy> accuracy_of(const VerifyArguments& arguments) {
  Accuracy accuracy;
  if (!arguments.tolerance.empty() && !arguments.min_snr.empty())
    return failure("usage", "--min-snr", "--tolerance is given, too; an output is right by one of them");
  if (!arguments.tolerance.empty()) {
    TRY(accuracy.tolerance, parse_tolerance("--tolerance", arguments.tolerance));
  }
  if (!arguments.min_snr.empty()) {
    TRY(accuracy.min_snr, parse_tolerance("--min-snr", arguments.min_snr));
  }
  return accuracy;
}

Status check_arguments(const VerifyArguments& arguments) {
  if (arguments.request.model == "-" || arguments.pte == "-")
    return failure("usage", "-", "what is compared has to be a file");
  TRY_STATUS(accuracy_of(arguments));
  TRY_STATUS(read_request(arguments.request));
  return {};
}

Status save_arrays(OutputSet& outputs, const std::string& path, std::span<const RuntimeValue> values) {
  NamedArrays arrays;
  for (const RuntimeValue& value : values) {
    TensorData data = as_tensor(value);
    if (data.storage != nullptr) arrays.emplace_back(fmt::format("arr_{}", arrays.size()), std::move(data));
  }
  TRY(const std::unique_ptr<Output> file, outputs.open(path));
  TRY_STATUS(write_npz(for_numpy(std::move(arrays)), *file));
  return file->commit();
}

// Returns the folder of the files.
Result<std::string> save(const Fault& fault, const std::string& parent) {
  const std::string folder = fmt::format("{}/{}", parent, fault.name);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return failure("write", folder, error.message());
  OutputSet outputs;
  TRY_STATUS(save_arrays(outputs, folder + "/inputs.npz", fault.inputs));
  TRY_STATUS(save_arrays(outputs, folder + "/expected.npz", fault.expected));
  TRY_STATUS(save_arrays(outputs, folder + "/actual.npz", fault.actual));
  if (!fault.pte.empty())
    TRY_STATUS(outputs.write(folder + "/delegate.pte",
                             {reinterpret_cast<const char*>(fault.pte.data()), fault.pte.size()}));
  TRY_STATUS(outputs.put_in_place());
  return folder;
}

class Verifier {
 public:
  Verifier(const VerifyArguments& arguments, Compiler& compiler, RunProgram run_program)
      : arguments_(arguments), compiler_(compiler), run_program_(run_program) {}

  Result<Verification> run();

 private:
  Status lower();
  void name_taps(std::vector<OutputError>& errors, std::string_view method) const;
  Result<RunCall> call_for(const ExecutionPlan& method) const;
  Result<std::vector<RuntimeValue>> outputs_of(const RunnablePte& pte, const std::string& method,
                                               std::span<const RuntimeValue> inputs);

  const VerifyArguments& arguments_;
  Compiler& compiler_;
  RunProgram run_program_;
  std::optional<Program> model_;
  std::optional<Executable> executable_;
  std::vector<Tap> taps_;
  std::vector<std::byte> lowered_;  // what the options give
  std::size_t runs_ = 0;
  std::map<std::string, std::size_t> stand_ins_;  // of the first run
};

Status Verifier::lower() {
  TRY(CompileOptions options, read_request(arguments_.request));
  options.lower.observe = [&](std::string_view step, const Program& program) {
    // The first pass after which nothing is written in place: there are reference kernels for that alone.
    if (step == "functionalize" && !model_) model_ = clone(program);
  };
  TRY(Compiled compiled, run_request(arguments_.request, options, compiler_));
  taps_ = std::move(compiled.report.taps);
  TRY(executable_, to_executorch(std::move(compiled.delegated)));
  TRY(PteFile file, write(*executable_, arguments_.pte));
  lowered_ = std::move(file.pte);
  return {};
}

// "output 1 (tap of linear_3: min, max)"
void Verifier::name_taps(std::vector<OutputError>& errors, std::string_view method) const {
  for (const Tap& tap : taps_) {
    if (tap.method == method && tap.output < errors.size())
      errors[tap.output].name += fmt::format(" ({})", str(tap));
  }
}

Result<RunCall> Verifier::call_for(const ExecutionPlan& method) const {
  if (arguments_.inputs.empty()) return random_call(method);
  TRY(const NamedArrays arrays, read_npz(arguments_.inputs));
  return call_of_arrays(method, arrays, arguments_.inputs);
}

Result<std::vector<RuntimeValue>> Verifier::outputs_of(const RunnablePte& pte, const std::string& name,
                                                       std::span<const RuntimeValue> inputs) {
  TRY(const PteContents contents, read_pte(pte.bytes, arguments_.pte));
  TRY(const ExecutionPlan* method, find_method(contents, name));
  RunRequest request{.program = pte.bytes,
                     .name = arguments_.pte,
                     .method = name,
                     .data_files = arguments_.ptd,
                     .plugins = arguments_.plugins,
                     .keeps_backends = true,
                     .calls = {RunCall(inputs.begin(), inputs.end())}};
  if (pte.executable != nullptr) request.originals = originals_of(*pte.executable, name);
  ++runs_;
  TRY(RunResult result, run_program_(request, *method));
  if (runs_ == 1) stand_ins_ = std::move(result.stand_ins);
  return std::move(result.outputs.at(0));
}

Result<Verification> Verifier::run() {
  TRY(const Accuracy accuracy, accuracy_of(arguments_));
  TRY_STATUS(lower());
  TRY(const std::shared_ptr<const MappedFile> file, open_input(arguments_.pte));
  TRY(const std::span<const std::byte> program, program_part(file->bytes(), arguments_.pte));
  TRY(const PteContents contents, read_pte(program, arguments_.pte));
  TRY(const ExecutionPlan* method, find_method(contents, arguments_.method));
  TRY(const RunCall inputs, call_for(*method));
  const bool is_lowered_so = std::ranges::equal(program, lowered_);
  TRY(const std::vector<RuntimeValue> expected, reference_outputs(*model_, method->name, inputs));
  const RunnablePte given{program, is_lowered_so ? &*executable_ : nullptr};
  TRY(const std::vector<RuntimeValue> actual, outputs_of(given, method->name, inputs));
  Verification verification{.reference = "Depute's reference kernels", .outputs = {}};
  TRY(verification.outputs, compare_outputs(expected, actual, accuracy));
  name_taps(verification.outputs, method->name);
  if (!verification.is_right() && is_lowered_so) {
    const PteRunner runner = [&](const RunnablePte& pte, const std::string& name,
                                 std::span<const RuntimeValue> values) {
      return outputs_of(pte, name, values);
    };
    TRY(verification.search, find_fault(compiler_, executable_->program(), executable_->options(),
                                        method->name, inputs, accuracy, runner));
    if (verification.search.fault && !arguments_.save_to.empty()) {
      TRY(verification.folder, save(*verification.search.fault, arguments_.save_to));
    }
  } else if (!verification.is_right()) {
    verification.search.note =
        "the fault was not searched: these options give a different .pte; use the options that it was "
        "lowered with";
  }
  verification.runs = runs_;
  verification.stand_ins = stand_ins_;
  return verification;
}

Result<int> run_verify(const VerifyArguments& arguments, Compiler& compiler, RunProgram run_program) {
  TRY_STATUS(check_arguments(arguments));
  TRY(const Verification verification, Verifier(arguments, compiler, run_program).run());
  const int printed =
      print_out(arguments.json ? verification_json(verification) : verification_text(verification));
  if (printed != exit_done) return printed;
  return verification.is_right() ? exit_done : exit_require;
}

Command make_verify_command(std::function<Result<int>(const VerifyArguments&)> execute) {
  return make_command<VerifyArguments>(
      "verify", "Compare a .pte in ExecuTorch's runtime with its model, and find what differs first",
      verify_options, std::move(execute));
}

}  // namespace

Command verify_command(std::span<char*> words) {
  return make_verify_command([words](const VerifyArguments& arguments) -> Result<int> {
    TRY_STATUS(check_arguments(arguments));
    return become_runner(arguments.runtime, words);
  });
}

Command verify_command(Compiler& compiler, RunProgram run_program) {
  return make_verify_command([&compiler, run_program](const VerifyArguments& arguments) {
    return run_verify(arguments, compiler, run_program);
  });
}

}  // namespace depute
