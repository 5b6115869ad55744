#include "lower/run_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <unordered_map>
#include <unordered_set>

#include "ir/copy.h"
#include "ir/equal.h"
#include "lower/lowering_error.h"
#include "lower/named_data_store.h"
#include "lower/validation.h"

namespace depute {
namespace {

class BackendRun {
 public:
  BackendRun(const Backend& backend, std::span<BackendJob* const> jobs, const RunBackendOptions& options)
      : backend_(backend), id_(backend.id()), jobs_(jobs), options_(options) {}

  Status run() {
    std::vector<Hash128> before;
    bool validates = is_validation_enabled();
    if (validates) before = hashes();
    TRY(std::vector<PreprocessResult> results, call());
    if (options_.check_determinism) {
      TRY(std::vector<PreprocessResult> again, call());
      TRY_STATUS(compare(results, again));
    }
    if (validates) TRY_STATUS(compare(before, hashes()));
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      TRY_STATUS(check(*jobs_[i], results[i]));
      jobs_[i]->result = std::move(results[i]);
    }
    return {};
  }

 private:
  LoweringPlace place(const BackendJob& job) const {
    return {.method = job.method.str(), .tag = job.partition->tag.str(), .backend = id_};
  }

  std::vector<Hash128> hashes() const {
    std::vector<Hash128> all;
    all.reserve(jobs_.size());
    for (const BackendJob* job : jobs_) all.push_back(structural_hash(*job->partition->program));
    return all;
  }

  // The results in the order of the jobs.
  Result<std::vector<PreprocessResult>> call() const {
    Backend::MethodPrograms programs;
    Backend::MethodSpecs specs;
    for (const BackendJob* job : jobs_) {
      std::string method(job->method.str());
      programs[method].push_back(job->partition->program.get());
      specs[method].push_back(job->partition->spec.compile_specs);
    }
    TRY(Backend::MethodResults all, call(programs, specs));
    TRY_STATUS(check_counts(programs, all));
    std::vector<PreprocessResult> results;
    std::unordered_map<Symbol, std::size_t> next;
    for (const BackendJob* job : jobs_) {
      std::vector<PreprocessResult>& of_method = all.find(std::string(job->method.str()))->second;
      results.push_back(std::move(of_method[next[job->method]++]));
    }
    return results;
  }

  Result<Backend::MethodResults> call(const Backend::MethodPrograms& programs,
                                      const Backend::MethodSpecs& specs) const {
    LoweringPlace where{.backend = id_};
    if (programs.size() == 1) where.method = programs.begin()->first;
    try {
      auto results = backend_.preprocess_multimethod(programs, specs, options_.jobs);
      if (results || results.error().code.starts_with("to_backend.")) return results;
      return backend_failed(where, results.error());
    } catch (const std::exception& exception) {
      return lowering_error(LoweringFault::BackendFailed, where,
                            fmt::format("it threw: {}", exception.what()));
    } catch (...) {
      return lowering_error(LoweringFault::BackendFailed, where, "it threw something that is no exception");
    }
  }

  Status check_counts(const Backend::MethodPrograms& programs, const Backend::MethodResults& results) const {
    for (const auto& [method, partitions] : programs) {
      auto found = results.find(method);
      std::size_t count = found == results.end() ? 0 : found->second.size();
      if (count == partitions.size()) continue;
      return lowering_error(LoweringFault::WrongResultCount, {.method = method, .backend = id_},
                            fmt::format("it returned {} results for {} partitions", count, partitions.size()),
                            "preprocess_multimethod returns one result per program, in their order");
    }
    for (const auto& [method, list] : results) {
      if (programs.contains(method)) continue;
      return lowering_error(LoweringFault::WrongResultCount, {.method = method, .backend = id_},
                            "it returned results for a method that it has no partition of");
    }
    return {};
  }

  Status check(const BackendJob& job, const PreprocessResult& result) const {
    if (result.processed_bytes == nullptr) {
      return lowering_error(LoweringFault::NoBytes, place(job), "it returned no bytes",
                            "a payload without content is an empty Storage, not a null one");
    }
    TRY_STATUS(check_named_data(job, result));
    return check_debug_handles(job, result);
  }

  Status check_named_data(const BackendJob& job, const PreprocessResult& result) const {
    NamedDataStore store;
    for (const NamedData& data : result.data_store_output) {
      Status added = store.add(data);
      if (added) continue;
      added.error().where = place_text(place(job));
      return added;
    }
    return {};
  }

  Status check_debug_handles(const BackendJob& job, const PreprocessResult& result) const {
    if (result.debug_handle_map.empty()) return {};
    std::unordered_set<std::uint32_t> known;
    const Method& method = *job.partition->program->methods.front();
    for (const Graph* graph : graphs_below(*method.graph)) {
      for (const Node& node : graph->nodes()) known.insert(node.debug_handle);
    }
    for (const auto& [id, handles] : result.debug_handle_map) {
      for (std::uint32_t handle : handles) {
        if (handle != 0 && known.contains(handle)) continue;
        return lowering_error(
            LoweringFault::BadDebugHandles, place(job),
            fmt::format("its delegate map names debug handle {}, which no node has", handle),
            "build the map with DelegateMappingBuilder from the nodes");
      }
    }
    return {};
  }

  Status compare(const std::vector<Hash128>& before, const std::vector<Hash128>& after) const {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (before[i] == after[i]) continue;
      return lowering_error(LoweringFault::BackendChangedProgram, place(*jobs_[i]),
                            "it changed the program it was given", "clone() the program to transform it");
    }
    return {};
  }

  Status compare(const std::vector<PreprocessResult>& first,
                 const std::vector<PreprocessResult>& second) const {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (is_same(first[i], second[i])) continue;
      return lowering_error(LoweringFault::BackendNotDeterministic, place(*jobs_[i]),
                            "it gave two different results for the same program");
    }
    return {};
  }

  static bool is_same_storage(const std::shared_ptr<const Storage>& a,
                              const std::shared_ptr<const Storage>& b) {
    if (a == nullptr || b == nullptr) return a == b;
    return a->size() == b->size() && (a == b || content_hash(*a) == content_hash(*b));
  }

  static bool is_same(const PreprocessResult& a, const PreprocessResult& b) {
    auto is_same_data = [](const NamedData& one, const NamedData& other) {
      return one.key == other.key && one.alignment == other.alignment &&
             is_same_storage(one.storage, other.storage);
    };
    return is_same_storage(a.processed_bytes, b.processed_bytes) &&
           a.debug_handle_map == b.debug_handle_map && a.delegate_info == b.delegate_info &&
           std::ranges::equal(a.data_store_output, b.data_store_output, is_same_data);
  }

  const Backend& backend_;
  std::string id_;
  std::span<BackendJob* const> jobs_;
  RunBackendOptions options_;
};

}  // namespace

Status run_backend(const Backend& backend, std::span<BackendJob* const> jobs,
                   const RunBackendOptions& options) {
  return BackendRun(backend, jobs, options).run();
}

}  // namespace depute
