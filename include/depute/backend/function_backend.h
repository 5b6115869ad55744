// FunctionBackend: a backend made of functions, for experiments and for backends without state:
//
//   entry.backend = std::make_unique<FunctionBackend>("MyBackend", [](const Program& program) {
//     return PreprocessResult{.processed_bytes = storage_of(print(program))};
//   });
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "depute/backend/backend.h"

#pragma GCC visibility push(default)

namespace depute {

class FunctionBackend : public Backend {
 public:
  // All functions must be pure and thread-safe, like those of Backend.
  using Preprocess = std::function<Result<PreprocessResult>(const Program&)>;
  using PreprocessWithSpecs =
      std::function<Result<PreprocessResult>(const Program&, std::span<const CompileSpec>)>;
  using Multimethod = std::function<Result<std::vector<MethodResults>>(std::span<const MethodPartitions>)>;

  // Without `multimethod`, the partitions are preprocessed one by one, which is the default of Backend.
  FunctionBackend(std::string id, PreprocessWithSpecs preprocess, Multimethod multimethod = {})
      : id_(std::move(id)), preprocess_(std::move(preprocess)), multimethod_(std::move(multimethod)) {}
  FunctionBackend(std::string id, Preprocess preprocess, Multimethod multimethod = {})
      : FunctionBackend(std::move(id),
                        PreprocessWithSpecs([preprocess = std::move(preprocess)](
                                                const Program& program, std::span<const CompileSpec>) {
                          return preprocess(program);
                        }),
                        std::move(multimethod)) {}

  std::string_view id() const override { return id_; }
  Result<PreprocessResult> preprocess(const Program& edge_program,
                                      std::span<const CompileSpec> compile_specs) const override {
    return preprocess_(edge_program, compile_specs);
  }
  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int jobs) const override {
    return multimethod_ ? multimethod_(methods) : Backend::preprocess_multimethod(methods, jobs);
  }

 private:
  std::string id_;
  PreprocessWithSpecs preprocess_;
  Multimethod multimethod_;
};

}  // namespace depute

#pragma GCC visibility pop
