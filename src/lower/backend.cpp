#include "depute/backend/backend.h"

#include <optional>

#include "lower/lowering_error.h"
#include "lower/run_backend.h"
#include "support/guarded.h"
#include "support/parallel_for.h"
#include "support/try.h"

namespace depute {
namespace {

struct Job {
  const std::string* method;
  const Partition* partition;
  std::optional<Result<PreprocessResult>> result;
};

// Its errors name the partition.
Result<PreprocessResult> preprocess(const Backend& backend, const Job& job) {
  const LoweringPlace place = partition_place(*job.method, *job.partition, backend.id());
  const auto thrown = [&] {
    LoweringPlace at = place;
    at.function = "preprocess()";
    return lowering_error(LoweringFault::BackendFailed, at, {});
  };
  return call_foreign(thrown, [&]() -> Result<PreprocessResult> {
    auto result = backend.preprocess(*job.partition->program, job.partition->compile_specs);
    if (result) return result;
    return backend_failed(place, result.error());
  });
}

}  // namespace

LoweringPlace partition_place(std::string_view method, const Partition& partition, std::string_view backend) {
  const Program& program = *partition.program;
  const Node* first = program.methods.empty() ? nullptr : program.methods.front()->graph->first();
  return {.method = method,
          .node = first,
          .tag = first == nullptr ? std::string_view() : first->tag.str(),
          .backend = backend};
}

Result<std::vector<MethodResults>> Backend::preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                                   int jobs) const {
  std::vector<Job> work;
  for (const auto& [method, partitions] : methods) {
    for (const Partition& partition : partitions) work.push_back({&method, &partition, std::nullopt});
  }
  parallel_for(work.size(), jobs,
               [&](std::size_t i) { work[i].result = depute::preprocess(*this, work[i]); });
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
