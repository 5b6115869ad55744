#include "lower/backend.h"

#include <fmt/format.h>

#include <exception>
#include <optional>

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

// A backend is other people's code: what it throws becomes a diagnostic with its words.
Result<PreprocessResult> preprocess_safely(const Backend& backend, const Job& job) {
  try {
    return backend.preprocess(*job.program, *job.specs);
  } catch (const std::exception& exception) {
    return error("to_backend", fmt::format("{}, partition {}", *job.method, job.position),
                 fmt::format("backend {} threw: {}", backend.id(), exception.what()));
  }
}

}  // namespace

Result<Backend::MethodResults> Backend::preprocess_multimethod(const MethodPrograms& programs,
                                                               const MethodSpecs& specs, int jobs) const {
  std::vector<Job> work;
  for (const auto& [method, partitions] : programs) {
    auto found = specs.find(method);
    if (found == specs.end() || found->second.size() != partitions.size()) {
      return error("to_backend", method,
                   fmt::format("backend {} got compile specs for another number of partitions", id()));
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
