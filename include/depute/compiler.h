// The compiler as a value: it owns its backends, and each step of the pipeline is a call.
//
//   Compiler compiler;                                                    // with the backends built in
//   DEPUTE_TRY(Program program, compiler.load("model.pt2"));
//   DEPUTE_TRY(Compiled compiled, compiler.lower(std::move(program), {.backends = {{"xnnpack"}}}));
//   DEPUTE_TRY(PteBytes bytes, compiler.emit(compiled.program));          // bytes.pte
//
// compile() is all of it from file to file. Callers who want other steps between them have the parts of
// lower(): normalise() (normalise.h), make_report() (report.h), Compiler::hand_over(), lower_leftovers(); and
// what these are made of: bind_backend_ops() and expand_backend_ops() (backend_op.h), to_backend()
// (to_backend.h), what adds to reports, unmet() (requirement.h).
//
// A compiler that nothing is added to may be used by several threads at a time, for several programs or one.
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
#include "depute/normalise.h"
#include "depute/program.h"
#include "depute/quantise.h"
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
  std::string program = {};  // of a worker (worker.h), which add_workers() gives a name
  std::string method = {};   // the only one it is asked about; empty: all
  BackendOptions options = {};
  // A program that add_workers() looked for in vain: "depute-backend-NAME on PATH". Empty: it did not look.
  std::string sought = {};
  // The caller's own, in the place of the one that the registered backend makes of the options; `name` is
  // then what reports call it. What it tags goes to the backends that its result names.
  std::shared_ptr<const Partitioner> partitioner = {};
};

// A change to a normalised program before any backend is asked.
using Transform = std::function<Result<Program>(Program program)>;

struct LowerOptions {
  std::vector<BackendRequest> backends = {};   // asked in this order
  bool plan_together = false;                  // all backends in one pass, instead of one after another
  std::vector<ConstantMethod> constants = {};  // added when the program is lowered: no backend sees them
  // Ranges of sizes, by symbol, within those that the program says: an upper bound that torch.export was not
  // told, or a smaller one.
  Ranges bounds = {};
  std::vector<QuantiseRule> quantise = {};     // layers whose weights become integers first
  std::vector<Calibration> calibrations = {};  // inputs for its static rules
  // Applied in this order; what they give is verified and normalised again.
  std::vector<Transform> transforms = {};
  bool edge_forms = false;  // NormaliseOptions::edge_forms, for all backends
  CacheOptions cache = {};  // keeps what backends make; not used with verify_each_pass
  int jobs = 1;
  bool verify_each_pass = false;
  bool verified = false;  // verify_input() has passed the program, as it has what load() gives
  // Report::apart: why backends have several delegates. compile() asks for it when someone reads the report.
  bool tell_why_apart = false;
  // Report::page: the graph and its costs. compile() asks for it when a report is a page.
  bool tell_page_facts = false;
  // And what would change under other options, for which partitions are planned again. compile() asks for it
  // when a report is a page.
  bool tell_advice = false;
  ObserveStep observe = {};  // of each step and pass
  // Called while a long step runs, with how much of it is done: "calibrate", 3 of 20 samples.
  std::function<void(std::string_view step, std::size_t done, std::size_t total)> progress = {};
};

// What lower() gives.
struct Compiled {
  Program program;  // normalised and lowered
  Report report;
};

// What emit() gave.
struct Written {
  std::string name;
  std::span<const std::byte> pte;
  WriteSummary summary;
};

// From files to files. "-" is standard input, or standard output.
struct CompileOptions {
  std::string input = {};  // .pt2 or .ir; may be empty when methods are given
  std::vector<std::pair<std::string, std::string>> methods = {};  // further methods: name, file
  // .npz for lower.calibrations, which they replace: method (empty: all that have none of their own), file
  std::vector<std::pair<std::string, std::string>> calibrate = {};
  std::vector<std::string> read_before = {};  // files that were read for this already: no output may be one
  LowerOptions lower = {};
  std::vector<Requirement> requirements = {};  // not met: no program is written
  // What the program has to be: a difference is a Report::lock_changes, and no program is written.
  std::string lock = {};
  bool update_lock = false;  // writes that file instead
  std::string output = {};   // .pte; empty: no program is written, and the report tells what would be refused
  std::vector<DataFile> ptd = {};         // for constants and delegates' data; the others stay in the output
  std::vector<std::string> reports = {};  // files; .html is a page, anything else JSON
  std::string debug_map = {};             // JSON file: from instructions of the output to the model's lines
  WriteOptions write = {};                // its jobs and ptd are those given here
};

class Compiler {
 public:
  // With the backends that are built in, or with those of `registry` alone.
  Compiler();
  explicit Compiler(Registry registry) : registry_(std::move(registry)) {}

  Status add(BackendEntry entry) { return registry_.add(std::move(entry)); }
  // In the place of those that have its name or its backend's id.
  Status put(BackendEntry entry) { return registry_.put(std::move(entry)); }
  Status add_kernels(std::string_view manifest, std::string_view name = "<manifest>") {
    return registry_.add_kernels(manifest, name);
  }
  const Registry& registry() const { return registry_; }

  // Reads a .pt2 archive or the text form, told apart by the first bytes. The program is verified, and its
  // constants lie where they were: in the mapped file, or in `bytes`, which `owner` keeps alive.
  Result<Program> load(const std::string& path) const;
  Result<Program> load(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                       const std::string& name = "<memory>") const;
  // The same for a model in memory, whose method becomes forward.
  Result<Program> load(const ExportedModel& model, const std::string& name = "<memory>") const;
  // The same for bytes that are the program's from now on.
  Result<Program> load(std::vector<std::byte> bytes, const std::string& name = "<memory>") const;

  // Methods of one file each as one program, under new names: compile()'s `methods`.
  Result<Program> join(std::vector<std::pair<std::string, Program>> methods) const;

  // The partitioner that lower() would ask: the request's own, or the registered backend's under its options.
  Result<std::shared_ptr<const Partitioner>> partitioner(const BackendRequest& request) const;

  // Normalises the program, hands parts of it to the backends and normalises what is left. The report has no
  // refusals yet.
  Result<Compiled> lower(Program program, const LowerOptions& options = {}) const;
  // The middle of it alone: puts the backends' own ops into what normalise() gave, and hands parts of it
  // over. The report is that of make_report(), or what an earlier call gave.
  Result<Compiled> hand_over(Compiled normalised, const LowerOptions& options = {}) const;

  // A lowered program as a .pte, with the .ptd files that it needs by the names they would have beside
  // `name`.
  Result<PteBytes> emit(const Program& program, const WriteOptions& options = {},
                        const std::string& name = "program.pte") const;
  // What compile() writes as its debug map, for the bytes that emit() gives with the same options.
  Result<std::string> debug_map(const Program& program, const WriteOptions& options = {},
                                const std::string& name = "program.pte") const;

  // The report of what lower() gave, with what would be refused if that was written, as compile() tells it
  // without an output; its page has the planned memory.
  Result<Report> explain(Report report, const Program& program, const WriteOptions& options = {}) const;
  // The report with what emit() wrote under the same options; its page has the planned memory and where the
  // bytes are.
  Result<Report> explain(Report report, const Program& program, const WriteOptions& options,
                         const Written& written) const;

  // All files are checked before any work (none is an input or another one, each can be written), and appear
  // together at the end. A failure leaves none behind, and existing ones as they were.
  Result<Compiled> compile(const CompileOptions& options) const;

 private:
  Registry registry_;
};

// What no backend took: backends' ops without a kernel become what they stand for, and what was kept whole
// for a backend is decomposed.
Result<Program> lower_leftovers(Program program, const LowerOptions& options = {});

// The names that `observe` is called with, in order.
std::vector<std::string_view> step_names();

// The name of the compiler in its output and in `depute --version`: "depute 0.1.0".
std::string version();

}  // namespace depute

#pragma GCC visibility pop
