#include "lower/to_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <unordered_map>
#include <unordered_set>

#include "ir/equal.h"
#include "lower/carve.h"
#include "support/check.h"

namespace depute {
namespace {

struct PartitionedMethod {
  const Method* method;
  PartitionResult result;
  CarvedMethod carved;
};

// Calls the partitioner and checks that it left the method as it was.
Result<PartitionResult> partition_method(const Program& program, const Method& method,
                                         const Partitioner& partitioner) {
  Hash128 before = structural_hash(*method.graph);
  Result<PartitionResult> result;
  try {
    result = partitioner.partition(program, method);
  } catch (const std::exception& exception) {
    return error("partition", method.name.str(), fmt::format("the partitioner threw: {}", exception.what()));
  }
  if (!result) return std::unexpected(result.error());
  if (structural_hash(*method.graph) != before) {
    return error("partition", method.name.str(), "the partitioner changed the program",
                 "a partitioner may only return tags");
  }
  return result;
}

// Delegate names: the tag, with a suffix where another method or an earlier lowering took it.
class DelegateNames {
 public:
  explicit DelegateNames(const Program& program) {
    for (const auto& delegate : program.delegates) taken_.insert(delegate->name);
  }
  Symbol operator()(Symbol tag) {
    Symbol name = tag;
    for (int suffix = 1; !taken_.insert(name).second; ++suffix)
      name = Symbol(fmt::format("{}_{}", tag.str(), suffix));
    return name;
  }

 private:
  std::unordered_set<Symbol> taken_;
};

std::unique_ptr<Delegate> make_delegate(CarvedPartition& partition, PreprocessResult result) {
  auto delegate = std::make_unique<Delegate>();
  delegate->name = partition.delegate_name;
  delegate->backend_id = partition.spec.backend_id;
  delegate->compile_specs = partition.spec.compile_specs;
  delegate->processed_bytes = std::move(result.processed_bytes);
  delegate->debug_handle_map = std::move(result.debug_handle_map);
  delegate->named_data = std::move(result.data_store_output);
  delegate->delegate_info = std::move(result.delegate_info);
  delegate->original = std::move(partition.program);
  return delegate;
}

// The backends in the order their first partition appears.
std::vector<std::string> backend_ids(const std::vector<PartitionedMethod>& methods) {
  std::vector<std::string> ids;
  for (const PartitionedMethod& method : methods) {
    for (const CarvedPartition& partition : method.carved.partitions) {
      if (std::ranges::find(ids, partition.spec.backend_id) == ids.end())
        ids.push_back(partition.spec.backend_id);
    }
  }
  return ids;
}

// All partitions of one backend, preprocessed; results keyed by delegate name.
Status preprocess_all(const Backend& backend, std::vector<PartitionedMethod>& methods, int jobs,
                      std::unordered_map<Symbol, PreprocessResult>& results) {
  Backend::MethodPrograms programs;
  Backend::MethodSpecs specs;
  std::map<std::string, std::vector<Symbol>> names;
  for (PartitionedMethod& method : methods) {
    std::string name(method.method->name.str());
    for (CarvedPartition& partition : method.carved.partitions) {
      if (partition.spec.backend_id != backend.id()) continue;
      programs[name].push_back(partition.program.get());
      specs[name].push_back(partition.spec.compile_specs);
      names[name].push_back(partition.delegate_name);
    }
  }
  Result<Backend::MethodResults> all;
  try {
    all = backend.preprocess_multimethod(programs, specs, jobs);
  } catch (const std::exception& exception) {
    return error("to_backend", backend.id(), fmt::format("the backend threw: {}", exception.what()));
  }
  if (!all) return std::unexpected(all.error());
  for (auto& [method, delegates] : names) {
    auto found = all->find(method);
    if (found == all->end() || found->second.size() != delegates.size()) {
      return error("to_backend", method,
                   fmt::format("backend {} returned {} results for {} partitions", backend.id(),
                               found == all->end() ? 0 : found->second.size(), delegates.size()));
    }
    for (std::size_t i = 0; i < delegates.size(); ++i) {
      if (found->second[i].processed_bytes == nullptr) {
        return error("to_backend", fmt::format("{}, delegate {}", method, delegates[i].str()),
                     fmt::format("backend {} returned no bytes", backend.id()));
      }
      results[delegates[i]] = std::move(found->second[i]);
    }
  }
  return {};
}

void record_verdicts(const PartitionedMethod& method, std::vector<NodeVerdict>& verdicts) {
  std::unordered_map<Symbol, Symbol> delegate_of;
  for (const CarvedPartition& partition : method.carved.partitions)
    delegate_of[partition.tag] = partition.delegate_name;
  std::unordered_map<const Node*, Symbol> tag_of;
  for (const auto& [node, tag] : method.result.node_tags) tag_of[node] = tag;
  for (const auto& [node, verdict] : method.result.verdicts) {
    auto tag = tag_of.find(node);
    auto delegate = tag == tag_of.end() ? delegate_of.end() : delegate_of.find(tag->second);
    verdicts.push_back({.method = method.method->name,
                        .node = Symbol(node->display_name()),
                        .op = node->op(),
                        .source = node->source != nullptr ? node->source->str() : std::string(),
                        .delegate = delegate == delegate_of.end() ? Symbol() : delegate->second,
                        .verdict = verdict});
  }
}

// Only what some method still refers to.
void copy_used_data(const Program& from, Program& to) {
  for (const auto& method : to.methods) {
    for (const InputSpec& spec : method->inputs) {
      if (spec.has_data()) to.data[spec.target] = *from.find_data(spec.target);
    }
  }
}

}  // namespace

Result<Lowered> to_backend(const Program& program, const Partitioner& partitioner, const Registry& registry,
                           const ToBackendOptions& options) {
  DelegateNames names(program);
  std::vector<PartitionedMethod> methods;
  for (const auto& method : program.methods) {
    TRY(PartitionResult result, partition_method(program, *method, partitioner));
    TRY(CarvedMethod carved, carve(program, *method, result, [&](Symbol tag) { return names(tag); }));
    methods.push_back({method.get(), std::move(result), std::move(carved)});
  }
  std::unordered_map<Symbol, PreprocessResult> results;
  for (const std::string& id : backend_ids(methods)) {
    const Backend* backend = registry.find_backend(id);
    if (backend == nullptr) return error("to_backend", id, "no backend of this id is built in");
    TRY_STATUS(preprocess_all(*backend, methods, options.jobs, results));
  }
  Lowered lowered;
  lowered.program.ranges = program.ranges;
  for (const auto& delegate : program.delegates) {
    lowered.program.delegates.push_back(std::make_unique<Delegate>(*delegate));
  }
  for (PartitionedMethod& method : methods) {
    record_verdicts(method, lowered.verdicts);
    for (CarvedPartition& partition : method.carved.partitions) {
      PreprocessResult& result = results.at(partition.delegate_name);
      lowered.program.delegates.push_back(make_delegate(partition, std::move(result)));
    }
    lowered.program.methods.push_back(std::move(method.carved.method));
  }
  copy_used_data(program, lowered.program);
  return lowered;
}

Result<Delegate> to_backend(std::string_view backend_id, const Program& program,
                            const std::vector<CompileSpec>& compile_specs, const Registry& registry) {
  const Backend* backend = registry.find_backend(backend_id);
  if (backend == nullptr) return error("to_backend", backend_id, "no backend of this id is built in");
  if (program.methods.size() != 1) {
    return error("to_backend", backend_id, "a delegate is made from a program of one method");
  }
  auto original = std::make_shared<Program>(clone(program));
  TRY(PreprocessResult result, backend->preprocess(*original, compile_specs));
  if (result.processed_bytes == nullptr)
    return error("to_backend", backend_id, "the backend returned no bytes");
  CarvedPartition whole{.tag = program.methods[0]->name,
                        .delegate_name = program.methods[0]->name,
                        .spec = {std::string(backend_id), compile_specs},
                        .program = std::move(original)};
  return std::move(*make_delegate(whole, std::move(result)));
}

}  // namespace depute
