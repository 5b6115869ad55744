#include "lower/run_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "depute/backend/backend.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/program.h"
#include "ir/debug_handles.h"
#include "lower/lowering_error.h"
#include "support/parallel_for.h"
#include "support/try.h"

namespace depute {
namespace {

class BackendRun {
 public:
  BackendRun(const Backend& backend, std::span<BackendJob* const> jobs, const RunBackendOptions& options)
      : backend_(backend), id_(backend.id()), jobs_(jobs), options_(options) {}

  Status run() {
    std::vector<Hash128> before;
    const bool validates = is_validation_enabled() && !backend_.is_remote();
    if (validates) before = hashes();
    TRY(std::vector<PreprocessResult> results, cached_call());
    if (options_.check_determinism) {
      TRY(std::vector<PreprocessResult> again, call(jobs_));
      TRY_STATUS(compare(results, again));
    }
    if (validates) TRY_STATUS(compare(before, hashes()));
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      TRY_STATUS(check(*jobs_[i], results[i]));
      jobs_[i]->result = std::move(results[i]);
    }
    keep_made();
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

  bool has_cache() const {
    return options_.cache != nullptr && options_.cache->is_open() && !options_.check_determinism;
  }

  // Calls the backend only for partitions that the cache does not have.
  Result<std::vector<PreprocessResult>> cached_call() {
    if (!has_cache()) return call(jobs_);
    keys_.resize(jobs_.size());
    parallel_for(jobs_.size(), options_.jobs, [&](std::size_t i) {
      const CarvedPartition& partition = *jobs_[i]->partition;
      keys_[i] = options_.cache->key_of(backend_, {partition.program.get(), partition.spec.compile_specs});
    });
    std::vector<PreprocessResult> results(jobs_.size());
    std::vector<BackendJob*> missing;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      std::optional<PreprocessResult> found;
      if (keys_[i]) found = options_.cache->find(*keys_[i], *jobs_[i]->partition->program);
      if (found) {
        results[i] = std::move(*found);
        keys_[i].reset();
      } else {
        missing.push_back(jobs_[i]);
        places.push_back(i);
      }
    }
    if (missing.empty()) return results;
    TRY(std::vector<PreprocessResult> made, call(missing));
    for (std::size_t i = 0; i < made.size(); ++i) results[places[i]] = std::move(made[i]);
    return results;
  }

  // Stores the results that the backend made in this call and that passed all checks.
  void keep_made() const {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i]) options_.cache->keep(*keys_[i], *jobs_[i]->partition->program, jobs_[i]->result);
    }
  }

  // Returns the results in the order of the jobs.
  Result<std::vector<PreprocessResult>> call(std::span<BackendJob* const> jobs) const {
    std::vector<MethodPartitions> methods;
    for (const BackendJob* job : jobs) {
      std::string_view method = job->method.str();
      if (methods.empty() || methods.back().method != method) methods.push_back({std::string(method), {}});
      methods.back().partitions.push_back(
          {job->partition->program.get(), job->partition->spec.compile_specs});
    }
    TRY(std::vector<MethodResults> all, backend_.preprocess_multimethod(methods, options_.jobs));
    TRY(std::vector<MethodResults*> ordered, in_order(methods, all));
    std::vector<PreprocessResult> results;
    for (MethodResults* of_method : ordered)
      std::ranges::move(of_method->results, std::back_inserter(results));
    return results;
  }

  // One entry per method, in the order of the methods.
  Result<std::vector<MethodResults*>> in_order(std::span<const MethodPartitions> methods,
                                               std::vector<MethodResults>& all) const {
    std::unordered_map<std::string_view, MethodResults*> by_name;
    for (MethodResults& of_method : all) {
      if (by_name.emplace(of_method.method, &of_method).second) continue;
      return wrong_count(of_method.method, "it returned two lists of results for this method");
    }
    std::vector<MethodResults*> ordered;
    for (const auto& [method, partitions] : methods) {
      auto found = by_name.find(method);
      std::size_t count = found == by_name.end() ? 0 : found->second->results.size();
      if (count != partitions.size()) {
        return wrong_count(method,
                           fmt::format("it returned {} results for {} partitions", count, partitions.size()));
      }
      ordered.push_back(found->second);
      by_name.erase(found);
    }
    for (const MethodResults& of_method : all) {
      if (by_name.contains(of_method.method))
        return wrong_count(of_method.method, "it returned results for a method without partitions for it");
    }
    return ordered;
  }

  Failure wrong_count(std::string_view method, std::string_view message) const {
    return lowering_error(LoweringFault::WrongResultCount, {.method = method, .backend = id_}, message,
                          "return one result per partition, in the order of the partitions");
  }

  Status check(const BackendJob& job, PreprocessResult& result) const {
    if (result.processed_bytes == nullptr) {
      return lowering_error(LoweringFault::NoBytes, place(job), "it returned no bytes",
                            "return an empty Storage for a payload without content");
    }
    if (result.arena_padding > max_arena_padding) {
      return lowering_error(LoweringFault::BadArenaPadding, place(job),
                            fmt::format("it requested an arena padding of {} bytes; the limit is {}",
                                        result.arena_padding, max_arena_padding));
    }
    TRY_STATUS(check_named_data(job, result));
    TRY_STATUS(check_identifiers(job, result.debug_handle_map));
    TRY_STATUS(check_debug_handles(job, result.debug_handle_map));
    sort_handles(result.debug_handle_map);
    return {};
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

  // An identifier in the runtime's log must lead to one entry, and the entry to at least one node.
  Status check_identifiers(const BackendJob& job, const DebugHandleMap& map) const {
    std::set<DelegateDebugId> known;
    for (const auto& [id, handles] : map) {
      std::string_view fault;
      if (!known.insert(id).second) fault = "has two entries for this identifier";
      if (handles.empty()) fault = "names no debug handle for this identifier";
      if (fault.empty()) continue;
      return bad_handles(job, fmt::format("its delegate map {}: {}", fault, debug_id_text(id)));
    }
    return {};
  }

  Status check_debug_handles(const BackendJob& job, const DebugHandleMap& map) const {
    if (map.empty()) return {};
    const std::unordered_set<std::uint32_t> known = debug_handles(*job.partition->program);
    for (const auto& [id, handles] : map) {
      for (std::uint32_t handle : handles) {
        if (known.contains(handle)) continue;
        return bad_handles(job,
                           fmt::format("its delegate map names debug handle {}, which no node has", handle));
      }
    }
    return {};
  }

  Failure bad_handles(const BackendJob& job, std::string_view message) const {
    return lowering_error(LoweringFault::BadDebugHandles, place(job), message,
                          "build the map with DelegateMappingBuilder from the nodes");
  }

  // Programs store handles ascending and without duplicates.
  static void sort_handles(DebugHandleMap& map) {
    for (auto& [id, handles] : map) {
      std::ranges::sort(handles);
      handles.erase(std::unique(handles.begin(), handles.end()), handles.end());
    }
  }

  Status compare(const std::vector<Hash128>& before, const std::vector<Hash128>& after) const {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (before[i] == after[i]) continue;
      return lowering_error(LoweringFault::BackendChangedProgram, place(*jobs_[i]),
                            "it modified its input program", "transform a clone() of the program");
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
    return have_same_bytes(*a, *b);
  }

  static bool is_same(const PreprocessResult& a, const PreprocessResult& b) {
    auto is_same_data = [](const NamedData& one, const NamedData& other) { return equal(one, other); };
    return is_same_storage(a.processed_bytes, b.processed_bytes) &&
           a.debug_handle_map == b.debug_handle_map && a.delegate_info == b.delegate_info &&
           a.arena_padding == b.arena_padding && a.inline_bytes == b.inline_bytes &&
           std::ranges::equal(a.data_store_output, b.data_store_output, is_same_data);
  }

  const Backend& backend_;
  std::string id_;
  std::span<BackendJob* const> jobs_;
  RunBackendOptions options_;
  std::vector<std::optional<Digest>> keys_;  // empty for results that are not cached
};

}  // namespace

Status run_backend(const Backend& backend, std::span<BackendJob* const> jobs,
                   const RunBackendOptions& options) {
  return BackendRun(backend, jobs, options).run();
}

}  // namespace depute
