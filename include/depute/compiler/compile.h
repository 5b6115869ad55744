// Compiles from file to file: inputs, outputs, lock files, requirements and reports.
//
//   Compiler compiler;
//   CompileOptions options{.input = "model.pt2", .output = "model.pte"};
//   options.lower.backends = {{"xnnpack"}};
//   DEPUTE_TRY(Compiled compiled, compile(compiler, options));            // compiled.report
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "depute/api.h"
#include "depute/compiler/compiler.h"
#include "depute/program/result.h"
#include "depute/tools/report.h"
#include "depute/tools/tuned_plan.h"

namespace depute {

// Arrays of a test case (.npz) for a bundled program: the inputs of a method in order, and its expected outputs.
struct TestCaseFiles {
  std::string method = {};    // empty: the only method, or the only one with inputs
  std::string inputs = {};    // as for `depute run --inputs`
  std::string expected = {};  // empty: the reference kernels compute them
};

// Options of compile(). The path "-" is standard input or standard output.
struct CompileOptions {
  std::string input = {};  // .pt2 or .ir; may be empty when methods are given
  std::vector<std::pair<std::string, std::string>> methods = {};  // further methods: name, file
  // Sample inputs (.npz) that replace lower.calibrations: method, file. An empty method means all methods
  // without samples of their own.
  std::vector<std::pair<std::string, std::string>> calibrate = {};
  std::vector<std::string> read_before = {};  // files already read by the caller: no output may overwrite one
  LowerOptions lower = {};
  std::vector<Requirement> requirements = {};  // no program is written if one is violated
  // Lock file to compare with. Differences go to Report::lock_changes, and no program is written.
  std::string lock = {};
  bool update_lock = false;  // writes the lock file instead
  // .pte; empty: no program is written, and the report lists everything that to_executorch() would reject.
  std::string output = {};
  std::vector<DataFile> ptd = {};      // files for constants and delegate data; other data stay in the output
  std::optional<TunedPlan> plan = {};  // from which lower.backends come, for the HTML page
  std::vector<std::string> reports =
      {};  // files; the extension says the format, as check_reports() knows them; "-": JSON
  std::string stand_ins =
      {};  // JSON file with what delegates compute, for `depute run` where their hardware is not there
  std::string debug_map = {};  // JSON file that maps instructions of the output to the model's source lines
  std::vector<TestCaseFiles> bundle =
      {};                     // if there are any, the output is a bundled program (.bpte) with them
  std::string etrecord = {};  // ETRecord of the output, for ExecuTorch's Inspector (depute/tools/etrecord.h)
  // Parts of the result's report that nothing above asks for.
  ReportParts parts = {};
  WriteOptions write = {};  // `jobs` and `ptd` are taken from lower.jobs and `ptd` above
};

struct Compiled {
  Delegated delegated;  // undelegated nodes are decomposed; from compile(), without rounds
  Report report;
};

// A device or runtime that gets a program of its own.
struct Target {
  std::string name = {};                      // part of file names: letters, digits, '-' and '_'
  std::vector<BackendRequest> backends = {};  // in place of LowerOptions::backends
  bool joint_planning = false;
};

// Fails for a path of CompileOptions::reports whose extension is no format's.
DEPUTE_API Status check_reports(const std::vector<std::string>& reports);
// The files that are read, "-" for standard input.
DEPUTE_API std::vector<std::string> input_files(const CompileOptions& options);
// True if an output goes to standard output, so that messages must go to standard error.
DEPUTE_API bool writes_standard_output(const CompileOptions& options);

// Reads the model, its further methods, and the sample inputs, which options.lower gets.
DEPUTE_API Result<Exported> read_inputs(const Compiler& compiler, CompileOptions& options);

// Calls the steps of Compiler::lower() and reports them, with their times.
DEPUTE_API Result<Compiled> lower_and_report(const Compiler& compiler, Exported exported,
                                             const LowerOptions& options, ReportParts parts = {});

// Checks all paths first: outputs must be writable, distinct and no inputs. All outputs appear together at the
// end; on failure no output file is created or changed.
DEPUTE_API Result<Compiled> compile(const Compiler& compiler, const CompileOptions& options);

// The path of a target's own file: "dir/model.phone.pte" for "dir/model.pte".
DEPUTE_API std::string target_path(const std::string& path, const std::string& target);

// Compiles one model for several targets. It is read, quantized and calibrated once. Each program and each file beside it (reports,
// lock, debug map, ...) has a target_path(); the .ptd files, by default one beside the output, are shared: equal bytes are stored once for
// all programs. All outputs appear together. If one program fails or violates a requirement, none is written.
//
//   Compiler compiler;
//   CompileOptions options{.input = "model.pt2", .output = "model.pte"};
//   const Target targets[] = {{"phone", {{"xnnpack"}}}, {"plain"}};
//   DEPUTE_TRY(auto all, compile_targets(compiler, options, targets));  // model.phone.pte, ..., model.ptd
DEPUTE_API Result<std::vector<Compiled>> compile_targets(const Compiler& compiler,
                                                         const CompileOptions& options,
                                                         std::span<const Target> targets);

}  // namespace depute
