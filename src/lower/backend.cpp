#include "lower/backend.h"

#include <fmt/format.h>

#include <exception>
#include <optional>

#include "lower/lowering_error.h"
#include "support/parallel_for.h"

namespace depute {
namespace {

struct Job {
  const std::string* method;
  std::size_t position;
  const Program* program;
  const std::vector<CompileSpec>* specs;
  std::optional<Result<PreprocessResult>> result;
};

// Where a partition's first node stands: its tag and the user's line.
LoweringPlace place_of(const Backend& backend, const Job& job) {
  const Node* first = job.program->methods.empty() ? nullptr : job.program->methods.front()->graph->first();
  return {.method = *job.method,
          .node = first,
          .tag = first == nullptr ? std::string_view() : first->tag.str(),
          .backend = backend.id()};
}

// A backend is other people's code: what it throws becomes a diagnostic with its words.
Result<PreprocessResult> preprocess_safely(const Backend& backend, const Job& job) {
  try {
    Result<PreprocessResult> result = backend.preprocess(*job.program, *job.specs);
    if (result) return result;
    return backend_failed(place_of(backend, job), result.error());
  } catch (const std::exception& exception) {
    return lowering_error(LoweringFault::BackendFailed, place_of(backend, job),
                          fmt::format("it threw: {}", exception.what()));
  } catch (...) {
    return lowering_error(LoweringFault::BackendFailed, place_of(backend, job),
                          "it threw something that is no exception");
  }
}

}  // namespace

Result<Backend::MethodResults> Backend::preprocess_multimethod(const MethodPrograms& programs,
                                                               const MethodSpecs& specs, int jobs) const {
  std::vector<Job> work;
  for (const auto& [method, partitions] : programs) {
    auto found = specs.find(method);
    if (found == specs.end() || found->second.size() != partitions.size()) {
      return lowering_error(LoweringFault::BackendFailed, {.method = method, .backend = id()},
                            "it got compile specs for another number of partitions");
    }
    for (std::size_t i = 0; i < partitions.size(); ++i) {
      work.push_back({&method, i, partitions[i], &found->second[i], std::nullopt});
    }
  }
  parallel_for(work.size(), jobs, [&](std::size_t i) { work[i].result = preprocess_safely(*this, work[i]); });
  MethodResults results;
  for (const auto& [method, partitions] : programs) results[method];
  for (Job& job : work) {
    TRY(PreprocessResult result, std::move(*job.result));
    results[*job.method].push_back(std::move(result));
  }
  return results;
}

}  // namespace depute
