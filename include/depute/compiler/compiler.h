// The compiler as a value: it owns its backends, and each step of the pipeline is a function from one stage to
// the next.
//
//   Compiler compiler;  // contains the built-in backends
//   const LowerOptions options{.backends = {{"xnnpack"}}};
//   DEPUTE_TRY(Exported exported, compiler.load("model.pt2"));
//   DEPUTE_TRY(Edge edge, compiler.to_edge(std::move(exported), options));
//   DEPUTE_TRY(Delegated delegated, compiler.to_backend(std::move(edge), options));
//   DEPUTE_TRY(Executable executable, to_executorch(std::move(delegated)));
//   DEPUTE_TRY(PteFile file, write(executable));                          // file.pte
//
// Compiler::lower() is quantize(), tap(), to_edge(), to_backend() and lower_undelegated(), and adds constant methods. compile()
// (compile.h) is everything from file to file. Reports are functions of stages (report.h).
//
// Several threads may use one compiler at a time as long as no thread adds to it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "depute/api.h"
#include "depute/backend/registry.h"
#include "depute/compiler/exported_model.h"
#include "depute/compiler/normalize.h"
#include "depute/compiler/quantize.h"
#include "depute/compiler/taps.h"
#include "depute/compiler/to_backend.h"
#include "depute/compiler/write_options.h"
#include "depute/program/program.h"
#include "depute/program/result.h"
#include "depute/program/sym.h"

namespace depute {

// --- stages
//
// The stages of a compilation, as values. Each is made by one function alone, so holding one proves that its
// step was done:
//
//   Exported    Compiler::load()                     read and verified
//   Edge        Compiler::to_edge()                  normalized; backends' own ops are in place
//   Delegated   Compiler::to_backend()               partitions are delegates
//   Executable  to_executorch()                      undelegated nodes are decomposed; memory is planned
//   PteFile     write()                              bytes, .ptd files, and a summary
//
// A stage does not change. Copies share one program. A step that gets the only copy edits that program in
// place; otherwise it edits a clone, which shares all constants.

struct Plan;  // memory plan and instructions, internal

namespace internal {
struct Stages;  // makes stages
}

// Base of the stages: a program that does not change.
class Stage {
 public:
  const Program& program() const { return *program_; }
  std::shared_ptr<const Program> shared_program() const { return program_; }
  // Layers that Compiler::quantize() changed, and inputs and outputs that are integers.
  const QuantizeResult& quantized() const { return *quantized_; }

 protected:
  Stage(std::shared_ptr<Program> program, std::shared_ptr<const QuantizeResult> quantized)
      : program_(std::move(program)), quantized_(std::move(quantized)) {}

 private:
  friend struct internal::Stages;
  std::shared_ptr<Program> program_;
  std::shared_ptr<const QuantizeResult> quantized_;
};

// A verified program, as torch.export gave it or with quantized layers.
class Exported : public Stage {
 private:
  friend struct internal::Stages;
  using Stage::Stage;
  bool is_quantized_ = false;  // Compiler::quantize() was called
};

// A normalized program: what partitioners see.
class Edge : public Stage {
 private:
  friend struct internal::Stages;
  using Stage::Stage;
};

// One call of partitioners: its input, what it decided, and the names of the backends that were asked.
struct DelegationRound {
  std::shared_ptr<const Program> before;
  Delegation decided;
  std::unordered_map<Name, std::string> asked;  // by method
};

// A program whose partitions are delegates. Undelegated nodes are as they were until lower_undelegated().
class DEPUTE_API Delegated : public Stage {
 public:
  // The program before the first round. Reports are about its nodes.
  const Program& normalized() const { return normalized_ == nullptr ? program() : *normalized_; }
  std::shared_ptr<const Program> shared_normalized() const {
    return normalized_ == nullptr ? shared_program() : normalized_;
  }
  const std::vector<DelegationRound>& rounds() const { return *rounds_; }
  // Frees the memory of the rounds and of the programs before them. Reports about the result have its own
  // nodes only.
  Delegated without_rounds() &&;

 private:
  friend struct internal::Stages;
  using Stage::Stage;
  std::shared_ptr<const Program> normalized_;
  std::shared_ptr<const std::vector<DelegationRound>> rounds_;
  bool is_lowered_ = false;  // undelegated nodes are decomposed
};

// A program that the runtime can execute, with its memory plan.
class Executable : public Stage {
 public:
  const Delegated& delegated() const { return delegated_; }  // all nodes that had to be are decomposed
  const Plan& plan() const { return *plan_; }
  const WriteOptions& options() const { return options_; }

 private:
  friend struct internal::Stages;
  Executable(Delegated delegated, std::shared_ptr<const Plan> plan, WriteOptions options)
      : Stage(delegated),
        delegated_(std::move(delegated)),
        plan_(std::move(plan)),
        options_(std::move(options)) {}

  Delegated delegated_;
  std::shared_ptr<const Plan> plan_;
  WriteOptions options_;
};

// --- steps

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
  bool joint_planning = false;  // partition for all backends in one pass instead of one after another
  std::vector<ConstantMethod> constants = {};  // add_constants()
  // Ranges of sizes by symbol. Each must lie within the program's own range, for example to give an upper
  // bound that torch.export does not know.
  Ranges bounds = {};
  std::vector<QuantizeRule> quantize = {};     // layers whose weights are quantized before partitioning
  std::vector<Calibration> calibrations = {};  // sample inputs for static rules
  std::vector<TapRule> taps = {};              // values that become outputs, after quantization
  // Applied in this order; each result is verified and normalized again.
  std::vector<Transform> transforms = {};
  std::vector<IntegerIoRule> integer_io =
      {};                   // inputs and outputs that become integers, after the transforms
  bool edge_forms = false;  // NormalizeOptions::edge_forms, applies to all backends
  std::vector<std::string> preserve_ops = {};  // ops that to_edge() does not decompose, besides the backends'
  CacheOptions cache = {};  // caches the results of backends; not used with verify_each_pass
  // Partition only: no backend is called, and delegates have no bytes. Such a program cannot be written.
  bool without_payloads = false;
  int jobs = 1;
  bool verify_each_pass = false;
  ObserveStep observe = {};  // of each step and pass
  // Called while a long step runs, with how much of it is done: "calibrate", 3 of 20 samples.
  std::function<void(std::string_view step, std::size_t done, std::size_t total)> progress = {};
};

// Adds to `options` the backend and the rules of a recipe. Options that are there already win: requests of
// the same backend, and rules of --quantize of the same kind (linear, conv, static, ...). The
// recipe's other rules apply to the layers that they find.
DEPUTE_API Status add_recipe(const Registry& registry, std::string_view name, LowerOptions& options);

class DEPUTE_API Compiler {
 public:
  // Makes a compiler with the built-in backends, or with the backends of `registry` only.
  Compiler() : Compiler(make_registry()) {}
  explicit Compiler(Registry registry) : registry_(std::move(registry)) {}

  // Adds a backend. Fails like Registry::add().
  Status add(BackendEntry entry) { return registry_.add(std::move(entry)); }
  // Replaces backends with the same name or backend id.
  Status put(BackendEntry entry) { return registry_.put(std::move(entry)); }
  // Adds kernels of the application from a manifest. Fails like Registry::add_kernels().
  Status add_kernels(std::string_view manifest, std::string_view name = "<manifest>") {
    return registry_.add_kernels(manifest, name);
  }
  // Reads a manifest from a file or a pipe; "-" is standard input.
  Status add_kernel_file(const std::string& path);
  const Registry& registry() const { return registry_; }

  // Reads a .pt2 archive or the text form; the first bytes decide which. Verifies the program. Constants are
  // not copied: they stay in the mapped file, or in `bytes`, which `owner` keeps alive.
  Result<Exported> load(const std::string& path) const;
  Result<Exported> load(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                        const std::string& name = "<memory>") const;
  // Reads a model in memory, whose method becomes "forward".
  Result<Exported> load(const ExportedModel& model, const std::string& name = "<memory>") const;
  // Reads bytes that the program owns from then on.
  Result<Exported> load(std::vector<std::byte> bytes, const std::string& name = "<memory>") const;
  // Verifies a program that the caller built or changed.
  Result<Exported> load(Program program) const;

  // Joins programs of one method each into one program with the given method names, or adds them to a program.
  Result<Exported> join(std::vector<std::pair<std::string, Exported>> methods) const;
  Result<Exported> join(Exported to, std::vector<std::pair<std::string, Exported>> methods) const;

  // Quantizes the layers that options.quantize names; options.calibrations has samples for static rules.
  Result<Exported> quantize(Exported exported, const LowerOptions& options) const;
  // Adds the taps of options.taps (taps.h), and describes them in `taps`.
  Result<Exported> tap(Exported exported, const LowerOptions& options,
                       std::vector<Tap>* taps = nullptr) const;
  // Normalizes the program, keeps the ops whole that the backends ask for, applies options.transforms and
  // options.integer_io, and puts the backends' own ops where their patterns are.
  Result<Edge> to_edge(Exported exported, const LowerOptions& options = {}) const;
  // Accepts a program that is in the Edge dialect already, without normalizing it again.
  Result<Edge> edge(Program program) const;

  // Asks options.backends for partitions and lowers them. A delegated program can be given to further backends.
  Result<Delegated> to_backend(Edge edge, const LowerOptions& options) const;
  Result<Delegated> to_backend(Delegated delegated, const LowerOptions& options) const;

  // All steps from an exported program to one whose undelegated nodes are decomposed, with options.constants and
  // the config_methods() of options.integer_io.
  Result<Delegated> lower(Exported exported, const LowerOptions& options = {}) const;

  // Returns the partitioner that to_backend() would use: the request's own, or the registered backend's with
  // the request's options. Fails for an unknown backend or option.
  Result<std::shared_ptr<const Partitioner>> partitioner(const BackendRequest& request) const;

 private:
  Registry registry_;
};

// Decomposes the undelegated nodes: replaces backend ops without a kernel by their patterns, and ops that were
// kept whole for a backend that did not take them. Doing it twice changes nothing.
DEPUTE_API Result<Delegated> lower_undelegated(Delegated delegated, const LowerOptions& options = {});

// Adds constants as methods, after partitioning, so that no backend sees them.
DEPUTE_API Result<Delegated> add_constants(Delegated delegated, std::span<const ConstantMethod> constants);

// Calls lower_undelegated() and plans the memory. Fails for a program that the runtime cannot execute;
// `refusals`, if given, then has all reasons, with nodes of the lowered program, which they keep alive.
DEPUTE_API Result<Executable> to_executorch(Delegated delegated, const WriteOptions& options = {},
                                            std::vector<Refusal>* refusals = nullptr);

// Writes the program to memory, as if to a file `name`.
DEPUTE_API Result<PteFile> write(const Executable& executable, const std::string& name = "program.pte");
// Writes the program to a file, and its .ptd files beside it. On failure no file is created or changed.
DEPUTE_API Result<PteFile> write_file(const Executable& executable, const std::string& path);

// Names passed to LowerOptions::observe, in order.
DEPUTE_API std::vector<std::string_view> step_names();

// Name and version of the compiler, in its output and in `depute --version`: "depute 0.1.0".
DEPUTE_API std::string version();

}  // namespace depute
