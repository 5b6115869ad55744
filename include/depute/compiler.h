// The compiler as a value: it owns its backends, and each step of the pipeline is a function call.
//
//   Compiler compiler;  // contains the built-in backends
//   DEPUTE_TRY(Program program, compiler.load("model.pt2"));
//   DEPUTE_TRY(Compiled compiled, compiler.lower(std::move(program), {.backends = {{"xnnpack"}}}));
//   DEPUTE_TRY(PteBytes bytes, compiler.emit(compiled.program));          // bytes.pte
//
// compile() is all of it from file to file. Callers who want other steps between them have the parts of
// lower(): normalize() (normalize.h), make_report() (report.h), Compiler::hand_over(), lower_undelegated(); and
// what these are made of: bind_backend_ops() and expand_backend_ops() (backend_op.h), to_backend()
// (to_backend.h), what adds to reports, unmet() (requirement.h).
//
// Several threads may use one compiler at a time as long as no thread adds to it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/constant_method.h"
#include "depute/exported_model.h"
#include "depute/normalize.h"
#include "depute/program.h"
#include "depute/quantize.h"
#include "depute/registry.h"
#include "depute/report.h"
#include "depute/requirement.h"
#include "depute/result.h"
#include "depute/result_cache.h"
#include "depute/sym.h"
#include "depute/write_options.h"

#pragma GCC visibility push(default)

namespace depute {

struct BackendRequest {
  std::string name = {};     // as registered: "xnnpack"
  std::string program = {};  // executable of a worker (worker.h); add_workers() sets `name` for it
  std::string method = {};   // the only method this backend gets; empty: all methods
  BackendOptions options = {};
  // Program that add_workers() searched for and did not find: "depute-backend-NAME on PATH". Empty: no
  // search.
  std::string sought = {};
  // Used instead of the partitioner that the registered backend makes from `options`; `name` is then only the
  // name in reports. Tagged nodes go to the backends named in its PartitionResult.
  std::shared_ptr<const Partitioner> partitioner = {};
};

// Changes a normalized program before partitioning.
using Transform = std::function<Result<Program>(Program program)>;

struct LowerOptions {
  std::vector<BackendRequest> backends = {};  // partitioned in this order
  bool plan_together = false;  // partition for all backends in one pass instead of one after another
  std::vector<ConstantMethod> constants = {};  // added after partitioning, so that no backend sees them
  // Ranges of sizes by symbol. Each must lie within the program's own range, for example to give an upper
  // bound that torch.export does not know.
  Ranges bounds = {};
  std::vector<QuantizeRule> quantize = {};     // layers whose weights are quantized before partitioning
  std::vector<Calibration> calibrations = {};  // sample inputs for static rules
  // Applied in this order; each result is verified and normalized again.
  std::vector<Transform> transforms = {};
  bool edge_forms = false;  // NormalizeOptions::edge_forms, applies to all backends
  CacheOptions cache = {};  // caches the results of backends; not used with verify_each_pass
  int jobs = 1;
  bool verify_each_pass = false;
  bool verified = false;  // the program is already verified (load() always does this); skip verify_input()
  // Fill Report::apart, which explains why a backend has more than one delegate. compile() sets this if a
  // report is written or there is no output.
  bool tell_why_apart = false;
  // Fill Report::page with the graph and its costs. compile() sets this if a report is an HTML page.
  bool tell_page_facts = false;
  // Add advice to Report::page: results under other options, for which the program is partitioned again.
  // compile() sets this if a report is an HTML page.
  bool tell_advice = false;
  ObserveStep observe = {};  // of each step and pass
  // Called while a long step runs, with how much of it is done: "calibrate", 3 of 20 samples.
  std::function<void(std::string_view step, std::size_t done, std::size_t total)> progress = {};
};

// Result of lower().
struct Compiled {
  Program program;  // normalized and lowered
  Report report;
};

// A .pte that emit() returned, passed to explain().
struct Written {
  std::string name;
  std::span<const std::byte> pte;
  WriteSummary summary;
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
  // .pte; empty: no program is written, and the report lists what emit() would reject.
  std::string output = {};
  std::vector<DataFile> ptd = {};  // files for constants and delegate data; other data stay in the output
  std::vector<std::string> reports = {};  // files; .html gives an HTML page, any other extension JSON
  std::string debug_map = {};  // JSON file that maps instructions of the output to the model's source lines
  WriteOptions write = {};     // `jobs` and `ptd` are taken from lower.jobs and `ptd` above
};

class Compiler {
 public:
  // Makes a compiler with the built-in backends, or with the backends of `registry` only.
  Compiler();
  explicit Compiler(Registry registry) : registry_(std::move(registry)) {}

  // Adds a backend. Fails like Registry::add().
  Status add(BackendEntry entry) { return registry_.add(std::move(entry)); }
  // Replaces backends with the same name or backend id.
  Status put(BackendEntry entry) { return registry_.put(std::move(entry)); }
  // Adds kernels of the application from a manifest. Fails like Registry::add_kernels().
  Status add_kernels(std::string_view manifest, std::string_view name = "<manifest>") {
    return registry_.add_kernels(manifest, name);
  }
  const Registry& registry() const { return registry_; }

  // Reads a .pt2 archive or the text form; the first bytes decide which. Verifies the program. Constants are
  // not copied: they stay in the mapped file, or in `bytes`, which `owner` keeps alive.
  Result<Program> load(const std::string& path) const;
  Result<Program> load(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                       const std::string& name = "<memory>") const;
  // Reads a model in memory, whose method becomes "forward".
  Result<Program> load(const ExportedModel& model, const std::string& name = "<memory>") const;
  // Reads bytes that the program owns from then on.
  Result<Program> load(std::vector<std::byte> bytes, const std::string& name = "<memory>") const;

  // Joins programs of one method each into one program with the given method names, like
  // CompileOptions::methods.
  Result<Program> join(std::vector<std::pair<std::string, Program>> methods) const;

  // Returns the partitioner that lower() would use: the request's own, or the registered backend's with the
  // request's options. Fails for an unknown backend or option.
  Result<std::shared_ptr<const Partitioner>> partitioner(const BackendRequest& request) const;

  // Normalizes the program, delegates parts of it to the backends, and lowers the undelegated nodes. The
  // report does not contain refusals yet.
  Result<Compiled> lower(Program program, const LowerOptions& options = {}) const;
  // The middle of it alone: puts the backends' own ops into what normalize() gave, and hands parts of it
  // over. The report is that of make_report(), or what an earlier call gave.
  Result<Compiled> hand_over(Compiled normalized, const LowerOptions& options = {}) const;

  // Serializes a lowered program as a .pte and the .ptd files it needs, which are named as if they lay beside
  // `name`. Fails for a program that cannot be planned.
  Result<PteBytes> emit(const Program& program, const WriteOptions& options = {},
                        const std::string& name = "program.pte") const;
  // Returns the debug map (JSON) for the bytes that emit() returns with the same options.
  Result<std::string> debug_map(const Program& program, const WriteOptions& options = {},
                                const std::string& name = "program.pte") const;

  // Plans `program` and adds to `report` everything that emit() would reject, and the memory plan for the
  // HTML page.
  Result<Report> explain(Report report, const Program& program, const WriteOptions& options = {}) const;
  // Adds to `report` the files that emit() wrote with the same options; the HTML page gets the memory plan
  // and the byte ledger.
  Result<Report> explain(Report report, const Program& program, const WriteOptions& options,
                         const Written& written) const;

  // Compiles from file to file. Checks all paths first: outputs must be writable, distinct and no inputs. All
  // outputs appear together at the end; on failure no output file is created or changed.
  Result<Compiled> compile(const CompileOptions& options) const;

 private:
  Registry registry_;
};

// Lowers the undelegated nodes: replaces backend ops without a kernel by their patterns and decomposes ops
// that were kept whole for a backend.
Result<Program> lower_undelegated(Program program, const LowerOptions& options = {});

// Names passed to LowerOptions::observe, in order.
std::vector<std::string_view> step_names();

// Name and version of the compiler, in its output and in `depute --version`: "depute 0.1.0".
std::string version();

}  // namespace depute

#pragma GCC visibility pop
