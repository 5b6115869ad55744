#include "lower/guarded_backend.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>

#include "lower/lowering_error.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

auto failed_at(LoweringFault fault, const LoweringPlace& place) {
  return [=] { return lowering_error(fault, place, {}); };
}

class GuardedBackend final : public Backend {
 public:
  GuardedBackend(std::unique_ptr<Backend> backend, std::string id)
      : backend_(std::move(backend)), id_(std::move(id)) {}

  std::string_view id() const override { return id_; }

  Result<PreprocessResult> preprocess(const Program& program,
                                      std::span<const CompileSpec> specs) const override {
    TRY(PreprocessResult result,
        call_foreign(failed("preprocess()"), [&] { return backend_->preprocess(program, specs); }));
    name_makers(result);
    return result;
  }

  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int jobs) const override {
    LoweringPlace place{.backend = id_};
    if (methods.size() == 1) place.method = methods.front().method;
    LoweringPlace thrown = place;
    thrown.function = "preprocess_multimethod()";
    auto all = call_foreign(failed_at(LoweringFault::BackendFailed, thrown),
                            [&] { return backend_->preprocess_multimethod(methods, jobs); });
    if (!all) return names_backend(all.error()) ? std::move(all) : backend_failed(place, all.error());
    for (const MethodResults& of_method : *all) {
      for (const PreprocessResult& result : of_method.results) name_makers(result);
    }
    return all;
  }

  std::string cache_version() const override {
    return value_or_throw(call_foreign(failed("cache_version()"), [&] { return backend_->cache_version(); }));
  }

  ScalarType border_type(ScalarType type, std::span<const CompileSpec> compile_specs) const override {
    return value_or_throw(
        call_foreign(failed("border_type()"), [&] { return backend_->border_type(type, compile_specs); }));
  }

  bool is_remote() const override {
    return value_or_throw(call_foreign(failed("is_remote()"), [&] { return backend_->is_remote(); }));
  }

  Result<std::string> describe(std::span<const std::byte> bytes) const override {
    return call_foreign(failed("describe()"), [&] { return backend_->describe(bytes); });
  }

  Result<PayloadLayout> layout(std::span<const std::byte> bytes) const override {
    return call_foreign(failed("layout()"), [&] { return backend_->layout(bytes); });
  }

 private:
  std::function<Failure()> failed(std::string_view function) const {
    return failed_at(LoweringFault::BackendFailed, {.backend = id_, .function = function});
  }

  // True if the error names this backend already, like errors of the default preprocess_multimethod. An error that
  // comes from a lowering inside of the backend names the inner one.
  bool names_backend(const Diagnostic& failure) const {
    const std::string own = place_text({.backend = id_});
    const bool is_failed =
        failure.code == memory_code ||
        failure.code == fmt::format("to_backend.{}", fault_id(LoweringFault::BackendFailed));
    return is_failed && (failure.where.ends_with(own) || failure.where.find(own + ", ") != std::string::npos);
  }

  void name_makers(const PreprocessResult& result) const {
    const auto name = [&](const std::shared_ptr<const Storage>& storage, const std::string& what) {
      if (storage != nullptr && storage->is_lazy())
        storage->name_maker(Name::scoped(fmt::format("{}, {}", place_text({.backend = id_}), what)));
    };
    name(result.processed_bytes, "processed_bytes");
    for (const NamedData& data : result.data_store_output)
      name(data.storage, fmt::format("named data \"{}\"", data.key));
  }

  std::unique_ptr<Backend> backend_;
  std::string id_;
};

// Wraps a function of foreign code, so that its failures name the backend and the function.
template <typename Answer, typename... Arguments>
void guard(std::function<Answer(Arguments...)>& function, const std::string& name, std::string_view what) {
  if (!function) return;
  function = [function = std::move(function), name, what](Arguments... arguments) -> Answer {
    const LoweringPlace place{.backend = name, .function = what};
    return value_or_throw(call_foreign(failed_at(LoweringFault::PartitionerFailed, place),
                                       [&] { return function(arguments...); }));
  };
}

class GuardedPartitioner final : public Partitioner {
 public:
  GuardedPartitioner(std::string name, std::shared_ptr<const Partitioner> partitioner)
      : name_(std::move(name)), partitioner_(std::move(partitioner)) {}

  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override {
    OpsToNotDecompose kept = value_or_throw(call_foreign(
        failed("ops_to_not_decompose()"), [&] { return partitioner_->ops_to_not_decompose(program); }));
    guard(kept.filter, name_, "filter of ops_to_not_decompose()");
    return kept;
  }

  Result<PartitionResult> partition(const Program& program, const Method& method) const override {
    return call_foreign(failed("partition()", method.name.str()),
                        [&] { return partitioner_->partition(program, method); });
  }

  Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const override {
    TRY(std::optional<Proposal> proposal, call_foreign(failed("proposal()", method.name.str()), [&] {
          return partitioner_->proposal(program, method);
        }));
    if (!proposal) return proposal;
    guard(proposal->support, name_, "support of proposal()");
    guard(proposal->options.regions.worth, name_, "worth of proposal()");
    return proposal;
  }

  bool is_remote() const override {
    return value_or_throw(call_foreign(failed("is_remote()"), [&] { return partitioner_->is_remote(); }));
  }

 private:
  std::function<Failure()> failed(std::string_view function, std::string_view method = {}) const {
    return failed_at(LoweringFault::PartitionerFailed,
                     {.method = method, .backend = name_, .function = function});
  }

  std::string name_;
  std::shared_ptr<const Partitioner> partitioner_;
};

}  // namespace

Result<std::unique_ptr<Backend>> guarded_backend(std::unique_ptr<Backend> backend) {
  if (backend == nullptr) return backend;
  TRY(std::string id, call_foreign(failed_at(LoweringFault::BackendFailed, {.function = "id()"}),
                                   [&] { return std::string(backend->id()); }));
  return std::make_unique<GuardedBackend>(std::move(backend), std::move(id));
}

std::unique_ptr<Partitioner> guarded_partitioner(std::string name,
                                                 std::shared_ptr<const Partitioner> partitioner) {
  return std::make_unique<GuardedPartitioner>(std::move(name), std::move(partitioner));
}

}  // namespace depute
