// The steps of a compilation, in order: load, quantize, to_edge, to_backend, lower_undelegated, to_executorch,
// write. Each makes one stage (compiler.h) of the stage before it.
#include "depute/compiler/compiler.h"

#include <fmt/format.h>

#include "depute/api.h"
#include "depute/backend/backend_op.h"
#include "depute/compiler/normalize.h"
#include "depute/program/name_scope.h"
#include "depute/program/program.h"
#include "ir/program_names.h"
#include "ir/sym/narrow_ranges.h"
#include "ir/verify.h"
#include "lower/delegate_parts.h"
#include "normalize/passes.h"
#include "plan/plan.h"
#include "read/pt2/read_pt2.h"
#include "read/read_program.h"
#include "requested_backends.h"
#include "stages.h"
#include "support/guarded.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/try.h"
#include "tap_filter.h"
#include "write/write_pte.h"

namespace depute {
namespace {

using internal::Stages;

Result<Exported> verified(Program program) {
  TRY_STATUS(verify_input(program));
  TRY_STATUS(check_data_is_there(program, "read"));
  return Stages::exported(std::move(program));
}

Result<Exported> read_verified(std::shared_ptr<const MappedFile> file, const Registry& registry) {
  TRY(Program program, read_program(std::move(file), registry.ops()));
  return verified(std::move(program));
}

void append(QuantizeResult& to, const QuantizeResult& from) {
  to.layers.insert(to.layers.end(), from.layers.begin(), from.layers.end());
  to.left.insert(to.left.end(), from.left.begin(), from.left.end());
  if (from.chosen) to.chosen = from.chosen;
  to.names = NameScope::current();  // keeps the names of both
}

// Returns the program of a stage to edit, with the ops of `registry`.
Program take(Stage& stage, const Registry& registry) {
  Program program = Stages::take(stage);
  if (program.ops != registry.ops()) use_ops(program, registry.ops());
  return program;
}

}  // namespace

Status Compiler::add_kernel_file(const std::string& path) {
  TRY(const std::shared_ptr<const MappedFile> file, open_text(path));
  const std::span<const std::byte> bytes = file->bytes();
  return add_kernels({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

Result<Exported> Compiler::load(const std::string& path) const {
  return guarded([&]() -> Result<Exported> {
    const NameScope::Use use(NameScope::current_or_new());
    TRY(std::shared_ptr<const MappedFile> file, open_input(path));
    return read_verified(std::move(file), registry_);
  });
}

Result<Exported> Compiler::load(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                const std::string& name) const {
  return guarded([&] {
    const NameScope::Use use(NameScope::current_or_new());
    return read_verified(MappedFile::in_memory(bytes, std::move(owner), name), registry_);
  });
}

Result<Exported> Compiler::load(std::vector<std::byte> bytes, const std::string& name) const {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return load(*owner, owner, name);
}

Result<Exported> Compiler::load(const ExportedModel& model, const std::string& name) const {
  return guarded([&]() -> Result<Exported> {
    const NameScope::Use use(NameScope::current_or_new());
    TRY(Program program, read_model(model, name, {.ops = registry_.ops()}));
    return verified(std::move(program));
  });
}

Result<Exported> Compiler::load(Program program) const {
  return guarded([&] {
    const NameScope::Use use(names_to_edit(program));
    if (program.ops != registry_.ops()) use_ops(program, registry_.ops());
    return verified(std::move(program));
  });
}

Result<Exported> Compiler::join(std::vector<std::pair<std::string, Exported>> methods) const {
  return join(Stages::exported(Program(registry_.ops())), std::move(methods));
}

Result<Exported> Compiler::join(Exported to, std::vector<std::pair<std::string, Exported>> methods) const {
  return guarded([&]() -> Result<Exported> {
    const NameScope::Use use(Stages::names(to));
    if (methods.empty()) return to;
    QuantizeResult quantized = to.quantized();
    bool is_quantized = Stages::is_quantized(to);
    Program program = take(to, registry_);
    for (auto& [name, method] : methods) {
      append(quantized, method.quantized());
      is_quantized = is_quantized || Stages::is_quantized(method);
      TRY_STATUS(join_method(program, take(method, registry_), Name::scoped(name)));
    }
    return Stages::exported(std::move(program), std::move(quantized), is_quantized);
  });
}

namespace {

Result<Exported> quantize_with(Exported exported, const LowerOptions& options, const Registry& registry) {
  TRY_STATUS(check_methods(exported.program(), options.backends));  // before the work
  QuantizeResult all = exported.quantized();
  Program program = take(exported, registry);
  TRY_STATUS(narrow_ranges(program, options.bounds));
  CalibrationProgress calibrated;
  if (options.progress)
    calibrated = [&](auto done, auto samples) { options.progress("calibrate", done, samples); };
  TRY(QuantizeResult quantized,
      depute::quantize(program, options.quantize, options.jobs, options.calibrations, calibrated));
  append(all, quantized);
  return Stages::exported(std::move(program), std::move(all), true);
}

Status normalize_for(Program& program, const std::vector<RequestedBackend>& backends,
                     const LowerOptions& options) {
  NormalizeOptions normalize_options{
      .edge_forms = options.edge_forms, .verify = options.verify_each_pass, .observe = options.observe};
  for (const RequestedBackend& backend : backends) {
    normalize_options.ops_to_not_decompose.push_back(backend.partitioner->ops_to_not_decompose(program));
  }
  OpsToNotDecompose preserved;
  for (const std::string& op : options.preserve_ops) preserved.ops.emplace_back(op);
  if (!preserved.ops.empty()) normalize_options.ops_to_not_decompose.push_back(std::move(preserved));
  return run_passes(program, all_passes(), normalize_options);
}

// Applies the caller's transforms. Each result comes from outside, so it is verified and normalized again.
Status transform(Program& program, const std::vector<RequestedBackend>& backends,
                 const LowerOptions& options) {
  for (std::size_t i = 0; i < options.transforms.size(); ++i) {
    const auto place = [&] { return failure("callback", fmt::format("transforms[{}]", i), {}); };
    TRY(program, call_foreign(place, [&] { return options.transforms[i](std::move(program)); }));
    TRY_STATUS(verify_input(program));
    TRY_STATUS(check_data_is_there(program, "read"));
    TRY_STATUS(normalize_for(program, backends, options));
  }
  return {};
}

std::vector<Name> backend_ops(const std::vector<RequestedBackend>& backends) {
  std::vector<Name> names;
  for (const RequestedBackend& backend : backends) {
    if (backend.entry == nullptr) continue;
    for (const BackendOpSpec& op : backend.entry->ops) names.emplace_back(op.name);
  }
  return names;
}

// Puts the backends' own ops where their patterns are.
Status bind_ops(Program& program, const std::vector<RequestedBackend>& backends, const Registry& registry) {
  const std::vector<Name> names = backend_ops(backends);
  if (!names.empty()) TRY_STATUS(bind_backend_ops(program, registry.ops(), names));
  return {};
}

}  // namespace

Result<Exported> Compiler::quantize(Exported exported, const LowerOptions& options) const {
  return guarded([&] {
    const NameScope::Use use(Stages::names(exported));
    return quantize_with(std::move(exported), options, registry_);
  });
}

Result<Exported> Compiler::tap(Exported exported, const LowerOptions& options, std::vector<Tap>* taps) const {
  return guarded([&]() -> Result<Exported> {
    const NameScope::Use use(Stages::names(exported));
    if (options.taps.empty()) return exported;
    const bool is_quantized = Stages::is_quantized(exported);
    QuantizeResult quantized = exported.quantized();
    Program program = take(exported, registry_);
    TRY(std::vector<Tap> added, add_taps(program, options.taps));
    if (taps != nullptr) *taps = std::move(added);
    return Stages::exported(std::move(program), std::move(quantized), is_quantized);
  });
}

Result<Edge> Compiler::to_edge(Exported exported, const LowerOptions& options) const {
  return guarded([&]() -> Result<Edge> {
    const NameScope::Use use(Stages::names(exported));
    TRY(std::vector<RequestedBackend> backends, find_backends(options.backends, registry_));
    TRY_STATUS(check_methods(exported.program(), options.backends));
    if (!options.quantize.empty() && !Stages::is_quantized(exported)) {
      TRY(exported, quantize_with(std::move(exported), options, registry_));
    }
    Stages::Quantized quantized = Stages::quantized(exported);
    Program program = take(exported, registry_);
    TRY_STATUS(narrow_ranges(program, options.bounds));
    TRY_STATUS(expand_taps(program));
    TRY_STATUS(normalize_for(program, backends, options));
    TRY_STATUS(transform(program, backends, options));
    if (!options.integer_io.empty()) {
      QuantizeResult with_io = *quantized;
      TRY(with_io.integer_io, make_integer_io(program, options.integer_io));
      with_io.names = NameScope::current();
      quantized = std::make_shared<const QuantizeResult>(std::move(with_io));
    }
    TRY_STATUS(bind_ops(program, backends, registry_));
    TRY_STATUS(report_step(options.observe, "normalize", program));
    return Stages::edge(std::move(program), std::move(quantized));
  });
}

Result<Edge> Compiler::edge(Program program) const {
  TRY(Exported exported, load(std::move(program)));
  Stages::Quantized quantized = Stages::quantized(exported);
  return Stages::edge(Stages::take(exported), std::move(quantized));
}

namespace {

// Asks the backends for parts of `program` and lowers these. `normalized` is the program before the first
// round; null if that is this one.
Result<Delegated> delegate(std::shared_ptr<Program> program, Stages::Quantized quantized,
                           std::shared_ptr<const Program> normalized, Stages::Rounds rounds,
                           const LowerOptions& options, const Registry& registry) {
  TRY(std::vector<RequestedBackend> backends, find_backends(options.backends, registry));
  TRY_STATUS(check_methods(*program, options.backends));
  if (!backends.empty() && has_taps(*program)) {
    for (RequestedBackend& backend : backends)
      backend.partitioner = without_taps(std::move(backend.partitioner));
  }
  const bool is_of_registry = program->ops == registry.ops();
  if (!is_of_registry || !backend_ops(backends).empty()) {
    Program edited = Stages::own(std::move(program));
    if (!is_of_registry) use_ops(edited, registry.ops());
    TRY_STATUS(bind_ops(edited, backends, registry));
    program = Stages::share(std::move(edited));
  }
  if (normalized == nullptr) normalized = program;
  const ToBackendOptions lowering{.jobs = options.jobs,
                                  .check_determinism = options.verify_each_pass,
                                  .without_payloads = options.without_payloads};
  TRY(ResultCache cache, ResultCache::open(options.without_payloads ? CacheOptions() : options.cache));
  for (Round& round : rounds_of(*program, backends, options.joint_planning)) {
    TRY(Lowered lowered, delegate_parts(*program, round.partitioners, registry, lowering, cache));
    rounds.push_back({program, std::move(static_cast<Delegation&>(lowered)), std::move(round.asked)});
    program = Stages::share(std::move(lowered.program));
  }
  return Stages::delegated(std::move(program), std::move(quantized), std::move(normalized),
                           std::move(rounds));
}

}  // namespace

Result<Delegated> Compiler::to_backend(Edge edge, const LowerOptions& options) const {
  return guarded([&] {
    const NameScope::Use use(Stages::names(edge));
    Stages::Quantized quantized = Stages::quantized(edge);
    return delegate(Stages::release(edge), std::move(quantized), nullptr, {}, options, registry_);
  });
}

Result<Delegated> Compiler::to_backend(Delegated delegated, const LowerOptions& options) const {
  return guarded([&] {
    const NameScope::Use use(Stages::names(delegated));
    return delegate(Stages::release(delegated), Stages::quantized(delegated), Stages::normalized(delegated),
                    delegated.rounds(), options, registry_);
  });
}

Delegated Delegated::without_rounds() && {
  normalized_ = nullptr;
  rounds_ = std::make_shared<const std::vector<DelegationRound>>();
  return std::move(*this);
}

Result<Delegated> lower_undelegated(Delegated delegated, const LowerOptions& options) {
  return guarded([&]() -> Result<Delegated> {
    const NameScope::Use use(Stages::names(delegated));
    if (Stages::is_lowered(delegated)) return delegated;
    Program program = Stages::take(delegated);
    TRY_STATUS(expand_backend_ops(program, BackendOpsToExpand::WithoutKernel));
    TRY_STATUS(run_passes(program, undelegated_passes(),
                          {.verify = options.verify_each_pass, .observe = options.observe}));
    return Stages::with_program(std::move(delegated), std::move(program), true);
  });
}

Result<Delegated> add_constants(Delegated delegated, std::span<const ConstantMethod> constants) {
  return guarded([&]() -> Result<Delegated> {
    const NameScope::Use use(Stages::names(delegated));
    if (constants.empty()) return delegated;
    const bool is_lowered = Stages::is_lowered(delegated);
    Program program = Stages::take(delegated);
    for (const ConstantMethod& constant : constants) TRY_STATUS(add_constant_method(program, constant));
    return Stages::with_program(std::move(delegated), std::move(program), is_lowered);
  });
}

Result<Delegated> Compiler::lower(Exported exported, const LowerOptions& options) const {
  TRY(exported, quantize(std::move(exported), options));
  TRY(exported, tap(std::move(exported), options));
  TRY(Edge edge, to_edge(std::move(exported), options));
  TRY(Delegated delegated, to_backend(std::move(edge), options));
  TRY(delegated, lower_undelegated(std::move(delegated), options));
  TRY(delegated, add_constants(std::move(delegated), options.constants));
  const std::vector<ConstantMethod> tells_io = config_methods(delegated.quantized().integer_io);
  TRY(delegated, add_constants(std::move(delegated), tells_io));
  TRY_STATUS(report_step(options.observe, "lower", delegated.program()));
  return delegated;
}

Result<Executable> to_executorch(Delegated delegated, const WriteOptions& options,
                                 std::vector<Refusal>* refusals) {
  TRY(delegated, lower_undelegated(std::move(delegated)));
  const NameScope::Use use(delegated.program().names);
  std::vector<Refusal> found;
  Result<Plan> plan = make_plan(delegated.program(), options, found);
  for (Refusal& refusal : found) refusal.program = delegated.shared_program();
  if (refusals != nullptr) *refusals = std::move(found);
  if (!plan) return Failure(plan.error());
  return Stages::executable(std::move(delegated), *std::move(plan), options);
}

Result<PteFile> write(const Executable& executable, const std::string& name) {
  const NameScope::Use use(executable.program().names);
  return write_pte_bytes(executable.program(), executable.plan(), executable.options(), name);
}

Result<PteFile> write_file(const Executable& executable, const std::string& path) {
  const NameScope::Use use(executable.program().names);
  TRY(WriteSummary summary, write_pte(executable.program(), executable.plan(), path, executable.options()));
  return PteFile{.name = path, .summary = std::move(summary)};
}

Result<std::shared_ptr<const Partitioner>> Compiler::partitioner(const BackendRequest& request) const {
  if (request.partitioner != nullptr) return request.partitioner;
  return guarded([&]() -> Result<std::shared_ptr<const Partitioner>> {
    TRY(std::vector<RequestedBackend> found, find_backends({request}, registry_));
    return found[0].partitioner;
  });
}

std::string version() {
  return fmt::format("depute {}.{}.{}", DEPUTE_VERSION_MAJOR, DEPUTE_VERSION_MINOR, DEPUTE_VERSION_PATCH);
}

std::vector<std::string_view> step_names() {
  std::vector<std::string_view> names = {"read"};
  for (const Pass& pass : all_passes()) names.push_back(pass.name);
  names.push_back("normalize");
  for (const Pass& pass : undelegated_passes()) names.push_back(pass.name);
  names.push_back("lower");
  return names;
}

}  // namespace depute
