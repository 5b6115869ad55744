#include "depute/backend.h"

#include <fmt/format.h>

#include <exception>
#include <optional>

#include "depute/lowering_error.h"
#include "support/parallel_for.h"
#include "support/try.h"

namespace depute {
namespace {

struct Job {
  const std::string* method;
  const Partition* partition;
  std::optional<Result<PreprocessResult>> result;
};

// Where a partition's first node stands: its tag and the user's line.
LoweringPlace place_of(const Backend& backend, const Job& job) {
  const Program& program = *job.partition->program;
  const Node* first = program.methods.empty() ? nullptr : program.methods.front()->graph->first();
  return {.method = *job.method,
          .node = first,
          .tag = first == nullptr ? std::string_view() : first->tag.str(),
          .backend = backend.id()};
}

// A backend is other people's code: what it throws becomes a diagnostic with its words.
Result<PreprocessResult> preprocess_safely(const Backend& backend, const Job& job) {
  try {
    Result<PreprocessResult> result =
        backend.preprocess(*job.partition->program, job.partition->compile_specs);
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

Result<std::vector<MethodResults>> Backend::preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                                   int jobs) const {
  std::vector<Job> work;
  for (const auto& [method, partitions] : methods) {
    for (const Partition& partition : partitions) work.push_back({&method, &partition, std::nullopt});
  }
  parallel_for(work.size(), jobs, [&](std::size_t i) { work[i].result = preprocess_safely(*this, work[i]); });
  std::vector<MethodResults> all;
  auto next = work.begin();
  for (const auto& [method, partitions] : methods) {
    MethodResults& of_method = all.emplace_back();
    of_method.method = method;
    for (std::size_t i = 0; i < partitions.size(); ++i, ++next) {
      TRY(PreprocessResult result, std::move(*next->result));
      of_method.results.push_back(std::move(result));
    }
  }
  return all;
}

Result<std::string> Backend::describe(std::span<const std::byte>) const {
  return std::string();
}

Result<PayloadLayout> Backend::layout(std::span<const std::byte>) const {
  return PayloadLayout();
}

}  // namespace depute
