// Backend: turns a subprogram into the bytes its runtime counterpart understands. ExecuTorch's
// BackendDetails.
//
//   class MyBackend : public Backend {
//     std::string_view id() const override { return "MyBackend"; }
//     Result<PreprocessResult> preprocess(const Program& p, std::span<const CompileSpec> specs) const
//     override;
//   };
//
// docs/backends.md walks through the demo backend, which is the one to copy.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "partition/partitioner.h"
#include "support/result.h"

namespace depute {

struct PreprocessResult {
  std::shared_ptr<const Storage> processed_bytes;
  DebugHandleMap debug_handle_map;
  std::vector<NamedData> data_store_output;
  std::string delegate_info;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // The name the runtime registers its half under: "XnnpackBackend".
  virtual std::string_view id() const = 0;

  // `edge_program` has one method, whose graph is one partition: its inputs are the call's arguments, then
  // the constants that moved in; its outputs the call's results. Must be pure and thread-safe: partitions are
  // preprocessed in parallel.
  virtual Result<PreprocessResult> preprocess(const Program& edge_program,
                                              std::span<const CompileSpec> compile_specs) const = 0;

  // All partitions of all methods for this backend at once: method -> programs, with the specs of each. The
  // default calls preprocess one by one.
  using MethodPrograms = std::map<std::string, std::vector<const Program*>>;
  using MethodSpecs = std::map<std::string, std::vector<std::vector<CompileSpec>>>;
  using MethodResults = std::map<std::string, std::vector<PreprocessResult>>;
  virtual Result<MethodResults> preprocess_multimethod(const MethodPrograms& programs,
                                                       const MethodSpecs& specs, int jobs) const;
};

}  // namespace depute
