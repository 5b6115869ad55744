#include "depute/compiler/to_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "depute/backend/backend.h"
#include "depute/program/program.h"
#include "depute/program/walk.h"
#include "ir/debug_handles.h"
#include "ir/program_names.h"
#include "lower/carve.h"
#include "lower/delegate_parts.h"
#include "lower/guarded_backend.h"
#include "lower/lowering_error.h"
#include "lower/run_backend.h"
#include "lower/state_owners.h"
#include "lower/unite_inputs.h"
#include "ops/own_ops.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

// A method during lowering.
struct CarvedPart {
  MethodPartition partition;
  CarvedMethod carved;
};

// Its own words, in the method's place.
Result<PartitionResult> call_partitioner(const Program& program, const Method& method,
                                         const Partitioner& partitioner) {
  Result<PartitionResult> result = partitioner.partition(program, method);
  if (result) return result;
  const Diagnostic& cause = result.error();
  auto failure = lowering_error(
      LoweringFault::PartitionerFailed, {.method = method.name.str()},
      fmt::format("[{}] {}{}{}", cause.code, cause.where, cause.where.empty() ? "" : ": ", cause.message),
      cause.hint);
  if (cause.code == failure.error().code || cause.code == memory_code) return result;  // it threw
  failure.error().source = cause.source;
  failure.error().details = cause.details;
  return failure;
}

bool is_same(const PartitionResult& a, const PartitionResult& b) {
  return a.partition_tags == b.partition_tags && a.node_tags == b.node_tags &&
         a.constant_tags == b.constant_tags && a.no_copy == b.no_copy && a.verdicts == b.verdicts;
}

Failure changed_program(std::string_view method) {
  return lowering_error(LoweringFault::PartitionerChangedProgram, {.method = method},
                        "the partitioner modified the program", "a partitioner may only return tags");
}

// Calls the partitioner and, if it `is_checked`, compares the method's graph before and after.
Result<PartitionResult> partition_method(const Program& program, const Method& method,
                                         const Partitioner& partitioner, bool is_checked,
                                         const ToBackendOptions& options) {
  const Hash128 before = is_checked ? structural_hash(*method.graph) : Hash128{};
  TRY(PartitionResult result, call_partitioner(program, method, partitioner));
  if (options.check_determinism) {
    TRY(PartitionResult again, call_partitioner(program, method, partitioner));
    if (!is_same(result, again)) {
      return lowering_error(LoweringFault::PartitionerNotDeterministic, {.method = method.name.str()},
                            "the partitioner gave two different results for the same program");
    }
  }
  if (is_checked && structural_hash(*method.graph) != before) return changed_program(method.name.str());
  return result;
}

// Delegate names: the tag, with a suffix if another graph or an earlier lowering uses the name.
class DelegateNames {
 public:
  explicit DelegateNames(const Program& program) {
    for (const auto& delegate : program.delegates) taken_.insert(delegate->name);
  }
  Name operator()(Name tag) {
    if (taken_.insert(tag).second) return tag;
    for (int& suffix = next_[tag];;) {
      Name name = Name::scoped(fmt::format("{}_{}", tag.str(), ++suffix));
      if (taken_.insert(name).second) return name;
    }
  }

 private:
  std::unordered_set<Name> taken_;
  std::unordered_map<Name, int> next_;
};

std::unique_ptr<Delegate> make_delegate(const CarvedPartition& partition, PreprocessResult result) {
  auto delegate = std::make_unique<Delegate>();
  delegate->name = partition.delegate_name;
  delegate->backend_id = partition.spec.backend_id;
  delegate->compile_specs = partition.spec.compile_specs;
  delegate->processed_bytes = std::move(result.processed_bytes);
  delegate->debug_handle_map = std::move(result.debug_handle_map);
  delegate->named_data = std::move(result.data_store_output);
  delegate->delegate_info = std::move(result.delegate_info);
  delegate->arena_padding = result.arena_padding;
  delegate->inline_bytes = result.inline_bytes;
  for (const auto& nested : partition.program->delegates) {
    delegate->arena_padding = std::max(delegate->arena_padding, nested->arena_padding);
    delegate->inline_bytes = delegate->inline_bytes || nested->inline_bytes;
  }
  delegate->original = partition.program;
  return delegate;
}

// Runs all jobs. Backends are called in the order of their first job.
Result<CacheUse> run_backends(std::vector<BackendJob>& jobs, const Registry& registry,
                              const ToBackendOptions& options, ResultCache& cache) {
  std::vector<const Backend*> order;
  std::unordered_map<const Backend*, std::vector<BackendJob*>> jobs_of;
  for (BackendJob& job : jobs) {
    const std::string& id = job.partition->spec.backend_id;
    const Backend* backend = registry.find_backend(id);
    if (backend == nullptr) {
      return lowering_error(LoweringFault::UnknownBackend,
                            {.method = job.method.str(), .tag = job.partition->tag.str(), .backend = id},
                            fmt::format("no backend with id '{}' is registered", id),
                            "`depute backends` lists them");
    }
    if (!jobs_of.contains(backend)) order.push_back(backend);
    jobs_of[backend].push_back(&job);
  }
  for (const Backend* backend : order) {
    TRY_STATUS(
        run_backend(*backend, jobs_of[backend],
                    {.jobs = options.jobs, .check_determinism = options.check_determinism, .cache = &cache}));
  }
  return cache.take_use();
}

// Maps each node of a method to its delegate.
class NodeOwners {
 public:
  explicit NodeOwners(const MethodPartition& method) : delegates_(method.delegates) {
    for (const auto& [node, tag] : method.result.node_tags) tag_of_[node] = tag;
    if (method.method->bodies.empty()) return;
    for (const auto& [node, tag] : method.result.node_tags) {
      for (const Graph* graph : graphs_below(*node)) taken_.emplace(graph, node);
    }
  }

  // Returns the outermost node that takes it along in a body, even if it has a tag of its own, or the tagged node itself; null if
  // it is undelegated.
  const Node* taken_with(const Node& node) const {
    const auto taken = taken_.find(&node.graph());
    if (taken != taken_.end()) return taken_with(*taken->second);
    return tag_of_.contains(&node) ? &node : nullptr;
  }
  Name tag_of(const Node& tagged) const { return tag_of_.at(&tagged); }

  // Empty for a partition without used results or effects.
  Name delegate_of(const Graph& graph, Name tag) const {
    auto delegates = delegates_.find(&graph);
    if (delegates == delegates_.end()) return {};
    auto found = delegates->second.find(tag);
    return found == delegates->second.end() ? Name() : found->second;
  }

 private:
  const std::unordered_map<const Graph*, std::unordered_map<Name, Name>>& delegates_;
  std::unordered_map<const Node*, Name> tag_of_;
  std::unordered_map<const Graph*, const Node*> taken_;  // body -> the node that takes it along
};

// The graph's name. Empty for the method's own graph.
Name body_name(const MethodPartition& method, const Graph& graph) {
  return &graph == method.method->graph.get() ? Name() : graph.name();
}

// The name under which a backend is registered, or its id if it is not registered.
std::string backend_name(const Registry& registry, std::string_view id) {
  for (const BackendEntry& entry : registry.entries()) {
    if (entry.backend->id() == id) return entry.name;
  }
  return std::string(id);
}

// The tags decide which backend takes a node. The partitioner's verdict is used if it agrees with the tags.
Verdict verdict_of(const MethodPartition& method, const Node* tagged, const NodeOwners& owners,
                   const Verdict* given, const Registry& registry) {
  if (given != nullptr && given->delegated == (tagged != nullptr)) return *given;
  if (tagged == nullptr) return {.rule = "untagged"};
  const DelegationSpec& spec = method.result.partition_tags.at(owners.tag_of(*tagged));
  return {.delegated = true, .owner = backend_name(registry, spec.backend_id)};
}

// The partitioner's verdicts by node. Partitioners usually give them in node order; reading in that order
// needs no look-up table.
class GivenVerdicts {
 public:
  explicit GivenVerdicts(const PartitionResult& result) : verdicts_(result.verdicts) {}

  const Verdict* of(const Node& node) {
    if (next_ < verdicts_.size() && verdicts_[next_].first == &node) return &verdicts_[next_++].second;
    if (by_node_.empty()) {
      for (const auto& [given, verdict] : verdicts_) by_node_[given] = &verdict;
    }
    const auto found = by_node_.find(&node);
    return found == by_node_.end() ? nullptr : found->second;
  }

 private:
  const std::vector<std::pair<const Node*, Verdict>>& verdicts_;
  std::size_t next_ = 0;
  std::unordered_map<const Node*, const Verdict*> by_node_;
};

// Records a verdict for every node, in graph and node order.
void record_verdicts(const MethodPartition& method, const Registry& registry,
                     std::vector<NodeVerdict>& verdicts) {
  const NodeOwners owners(method);
  GivenVerdicts given(method.result);
  for (const Graph* graph : graphs_of(*method.method)) {
    for (const Node& node : graph->nodes()) {
      const Node* tagged = owners.taken_with(node);
      NodeVerdict record{.method = method.method->name,
                         .graph = body_name(method, *graph),
                         .node = node.display_symbol(),
                         .op = node.op(),
                         .source = node.source != nullptr ? node.source->str() : std::string(),
                         .delegate = tagged == nullptr
                                         ? Name()
                                         : owners.delegate_of(tagged->graph(), owners.tag_of(*tagged)),
                         .verdict = verdict_of(method, tagged, owners, given.of(node), registry)};
      for (const NodeOrigin& origin : node.replaced) record.replaced.push_back(origin.debug_handle);
      if (record.verdict.delegated && record.delegate.empty())
        record.verdict = {
            .delegated = false, .owner = {}, .rule = "unused", .seen = "its result is unused", .allowed = {}};
      verdicts.push_back(std::move(record));
    }
  }
}

// Copies the data that some method still refers to.
void copy_used_data(const Program& from, Program& to) {
  for (const auto& method : to.methods) {
    for (const InputSpec& spec : method->inputs) {
      if (spec.has_data()) to.data[spec.target] = *from.find_data(spec.target);
    }
  }
}

// Copies the delegates of an earlier lowering that did not move into new delegates.
void copy_called_delegates(const Program& from, Program& to) {
  if (from.delegates.empty()) return;
  std::unordered_set<Name> called;
  for (const auto& method : to.methods) {
    for (const Graph* graph : graphs_of(*method)) {
      for (const Node& node : graph->nodes()) called.insert(called_delegate(node));
    }
  }
  for (const auto& delegate : from.delegates) {
    if (called.contains(delegate->name)) to.delegates.push_back(std::make_unique<Delegate>(*delegate));
  }
}

// All partitioners are held against the whole program once, since hashing it for each of many methods would take
// quadratic time; where there are several, each against its own method before, which can then be named.
Result<std::vector<CarvedPart>> partition_methods(const Program& program,
                                                  const MethodPartitioners& partitioners,
                                                  const ToBackendOptions& options) {
  std::optional<Hash128> before;
  const auto asks_here = [](const auto& each) { return !each.second->is_remote(); };
  if (is_validation_enabled() && std::ranges::any_of(partitioners, asks_here))
    before = structural_hash(program);
  std::vector<CarvedPart> parts;
  for (const auto& method : program.methods) {
    const auto partitioner = partitioners.find(method->name.str());
    CarvedPart part{
        .partition = {.method = method.get(), .has_partitioner = partitioner != partitioners.end()}};
    if (part.partition.has_partitioner) {
      const bool is_checked = before && program.methods.size() > 1 && !partitioner->second->is_remote();
      TRY(part.partition.result,
          partition_method(program, *method, *partitioner->second, is_checked, options));
    }
    parts.push_back(std::move(part));
  }
  if (before && structural_hash(program) != *before) {
    return changed_program(partitioners.size() == 1 ? std::string_view(partitioners.begin()->first) : "");
  }
  return parts;
}

Result<std::vector<CarvedPart>> carve_methods(const Program& program, const MethodPartitioners& partitioners,
                                              const Registry& registry, const ToBackendOptions& options) {
  TRY(std::vector<CarvedPart> parts, partition_methods(program, partitioners, options));
  DelegateNames names(program);
  const Effects effects(program);
  const auto border_type = [&](const DelegationSpec& spec, ScalarType type) {
    const Backend* backend = registry.find_backend(spec.backend_id);
    return backend == nullptr ? type : backend->border_type(type, spec.compile_specs);
  };
  for (CarvedPart& part : parts) {
    MethodPartition& partition = part.partition;
    TRY(part.carved, carve(
                         program, effects, *partition.method, partition.result,
                         [&](Name tag) { return names(tag); }, border_type));
    for (const CarvedPartition& each : part.carved.partitions)
      partition.delegates[each.graph][each.tag] = each.delegate_name;
  }
  StateOwners owners(effects.stateful());
  for (const CarvedPart& part : parts) owners.add(part.carved);
  TRY_STATUS(owners.check());
  return parts;
}

MethodPartitioners for_all_methods(const Program& program, const Partitioner& partitioner) {
  MethodPartitioners partitioners;
  for (const auto& method : program.methods)
    partitioners.emplace(std::string(method->name.str()), &partitioner);
  return partitioners;
}

// Named data keys are shared by all delegates of a program, so they must not conflict.
Status check_named_data(const Program& program) {
  auto merged = merge_named_data(program);
  if (!merged) return Failure(std::move(merged).error());
  return {};
}

}  // namespace

Result<Lowered> delegate_parts(const Program& program, const MethodPartitioners& partitioners,
                               const Registry& registry, const ToBackendOptions& options,
                               ResultCache& cache) {
  std::unordered_set<std::string_view> methods;
  for (const auto& method : program.methods) methods.insert(method->name.str());
  for (const auto& [name, partitioner] : partitioners) {
    if (!methods.contains(name)) {
      return lowering_error(LoweringFault::UnknownMethod, {.method = name},
                            "a partitioner is given for an unknown method");
    }
    if (partitioner == nullptr) {
      return lowering_error(LoweringFault::NoPartitioner, {.method = name},
                            "the partitioner for this method is null", "omit methods that stay undelegated");
    }
  }
  MethodPartitioners guarded;
  std::vector<std::unique_ptr<const Partitioner>> owned;
  for (const auto& [name, partitioner] : partitioners) {
    owned.push_back(
        guarded_partitioner({}, std::shared_ptr<const Partitioner>(std::shared_ptr<void>(), partitioner)));
    guarded[name] = owned.back().get();
  }
  TRY(std::vector<CarvedPart> parts, carve_methods(program, guarded, registry, options));
  std::vector<BackendJob> jobs;
  std::size_t count = 0;
  for (const CarvedPart& part : parts) count += part.carved.partitions.size();
  std::uint32_t handle = last_debug_handle(program);
  if (count > 0) TRY_STATUS(next_debug_handle(handle, count));
  for (CarvedPart& part : parts) {
    for (CarvedPartition& partition : part.carved.partitions) {
      partition.call->debug_handle = ++handle;
      jobs.push_back({part.partition.method->name, &partition, {}});
    }
  }
  Lowered lowered{{}, empty_like(program)};
  if (!options.without_payloads) {
    TRY(lowered.cache, run_backends(jobs, registry, options, cache));
  }
  for (CarvedPart& part : parts) {
    if (part.partition.has_partitioner) record_verdicts(part.partition, registry, lowered.verdicts);
    lowered.program.methods.push_back(std::move(part.carved.method));
    lowered.methods.push_back(std::move(part.partition));
  }
  copy_used_data(program, lowered.program);
  copy_called_delegates(program, lowered.program);
  for (BackendJob& job : jobs)
    lowered.program.delegates.push_back(make_delegate(*job.partition, std::move(job.result)));
  TRY_STATUS(check_named_data(lowered.program));
  return lowered;
}

namespace {

Result<Delegate> lower_whole(std::string_view backend_id, const Program& program,
                             const std::vector<CompileSpec>& compile_specs, const Registry& registry,
                             const ToBackendOptions& options) {
  if (program.methods.size() != 1) {
    return lowering_error(LoweringFault::NotOneMethod, {.backend = backend_id},
                          fmt::format("a delegate requires a program with one method, but this one has {}",
                                      program.methods.size()));
  }
  Name name = program.methods.front()->name;
  CarvedPartition whole{.tag = name,
                        .delegate_name = name,
                        .spec = {std::string(backend_id), compile_specs},
                        .program = std::make_shared<Program>(clone(program))};
  unite_inputs(*whole.program->methods.front());
  std::vector<BackendJob> jobs = {{name, &whole, {}}};
  TRY(ResultCache cache, ResultCache::open(options.cache));
  TRY(std::ignore, run_backends(jobs, registry, options, cache));
  Program holder;
  holder.delegates.push_back(make_delegate(whole, std::move(jobs.front().result)));
  TRY_STATUS(check_named_data(holder));
  return std::move(*holder.delegates.front());
}

}  // namespace

Result<Lowered> to_backend(const Program& program, const MethodPartitioners& partitioners,
                           const Registry& registry, const ToBackendOptions& options) {
  return guarded([&]() -> Result<Lowered> {
    const NameScope::Use use(program.names.copy());
    TRY_STATUS(verify_input(program));
    TRY(ResultCache cache, ResultCache::open(options.cache));
    return delegate_parts(program, partitioners, registry, options, cache);
  });
}

Result<Lowered> to_backend(const Program& program, const Partitioner& partitioner, const Registry& registry,
                           const ToBackendOptions& options) {
  return guarded([&]() -> Result<Lowered> {
    const NameScope::Use use(program.names.copy());
    TRY_STATUS(verify_input(program));
    TRY(ResultCache cache, ResultCache::open(options.cache));
    return delegate_parts(program, for_all_methods(program, partitioner), registry, options, cache);
  });
}

Result<Delegate> to_backend(std::string_view backend_id, const Program& program,
                            const std::vector<CompileSpec>& compile_specs, const Registry& registry,
                            const ToBackendOptions& options) {
  return guarded([&]() -> Result<Delegate> {
    const NameScope::Use use(program.names.copy());
    TRY_STATUS(verify_input(program));
    return lower_whole(backend_id, program, compile_specs, registry, options);
  });
}

Splits splits_of(const Program& program, const Delegation& delegation) {
  const NameScope::Use use(names_of(program));
  Splits all;
  for (const MethodPartition& method : delegation.methods) {
    std::unordered_map<Name, const std::unordered_map<Name, Name>*> delegates;  // by graph, then by tag
    for (const auto& [graph, by_tag] : method.delegates)
      delegates.emplace(body_name(method, *graph), &by_tag);
    Splits found = find_splits(program, *method.method, method.result);
    all.omitted += found.omitted;
    for (Split& split : found.pairs) {
      const auto in_graph = delegates.find(split.graph);
      if (in_graph == delegates.end()) continue;
      const auto first = in_graph->second->find(split.first);
      const auto second = in_graph->second->find(split.second);
      if (first == in_graph->second->end() || second == in_graph->second->end()) continue;  // unneeded
      split.first = first->second;
      split.second = second->second;
      all.pairs.push_back(std::move(split));
    }
  }
  return all;
}

namespace {

Status check_original(const Delegate& delegate) {
  const bool is_one_method = delegate.original != nullptr && delegate.original->methods.size() == 1 &&
                             delegate.original->methods.front() != nullptr;
  if (is_one_method) return verify_input(*delegate.original);
  return failure("to_backend", fmt::format("delegate {}", delegate.name.str()),
                 delegate.original == nullptr ? "it does not have its original program"
                                              : "its original program must have exactly one method",
                 "lower the model again: .pte files do not contain the original programs");
}

Result<Program> standing_alone(const Delegate& delegate) {
  TRY_STATUS(check_original(delegate));
  const Method& inner = *delegate.original->methods.front();
  Program program = empty_like(*delegate.original);
  Method& method = program.add_method(Name("forward"));
  method.in_spec = inner.in_spec;
  method.out_spec = inner.out_spec;
  std::vector<Argument> args = {Argument::text(Argument::Kind::Delegate, delegate.name)};
  for (const Value* input : inner.graph->inputs()) {
    if (inner.inputs[input->index()].has_data()) continue;
    args.push_back(Argument::of(method.graph->add_input(input->name(), input->type())));
    method.inputs.push_back(inner.inputs[input->index()]);
  }
  std::vector<ResultSpec> results;
  for (std::size_t i = 0; i < inner.outputs.size(); ++i) {
    const Argument& output = inner.graph->outputs()[i];
    if (output.is_value() && !inner.outputs[i].mutates_data())
      results.push_back({delegate.name, output.as_value()->type()});
  }
  Node* call = method.graph->add(delegate_call_symbol(), args, {}, results);
  TRY(call->debug_handle, next_debug_handle(last_debug_handle(*delegate.original)));
  std::vector<Argument> outputs;
  std::size_t next = 0;
  for (std::size_t i = 0; i < inner.outputs.size(); ++i) {
    if (inner.outputs[i].mutates_data()) continue;
    const Argument& output = inner.graph->outputs()[i];
    outputs.push_back(output.is_value() ? Argument::of(call->result(next++)) : output);
    method.outputs.push_back(inner.outputs[i]);
  }
  method.graph->set_outputs(outputs);
  program.delegates.push_back(std::make_unique<Delegate>(delegate));
  return program;
}

}  // namespace

Result<Program> as_program(const Delegate& delegate) {
  return guarded([&] {
    const NameScope::Use use(delegate.names.copy());
    return standing_alone(delegate);
  });
}

}  // namespace depute
