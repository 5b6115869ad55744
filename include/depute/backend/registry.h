// Registry: backends and factories of their partitioners, by the name used on the command line.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/api.h"
#include "depute/backend/backend.h"
#include "depute/backend/backend_op.h"

namespace depute {

// Options of one --backend NAME:key=value,key=value; pairs of key and value.
using BackendOptions = std::vector<std::pair<std::string, std::string>>;

// Condition for one argument of an op, or for its first result ("result").
struct SupportLimit {
  std::string of = {};
  std::string kind = {};             // "rank", "number", "constant" or a word of the backend's own
  std::optional<double> least = {};  // minimum; nullopt: no bound
  // Maximum; nullopt: no bound.
  std::optional<double> most = {};
  std::vector<std::string> values = {};  // allowed values; empty: any
};

// One line of a support matrix: conditions under which the backend takes an op. A call must satisfy all
// limits of at least one form; no forms means no limits.
struct SupportRow {
  std::string op = {};
  std::string conditions = {};
  std::vector<std::string> types = {};  // element types of the op's tensors; empty: unspecified
  bool mixes_types = false;             // tensors may have different element types
  std::vector<std::string> layouts = {};
  std::vector<std::vector<SupportLimit>> forms = {};
};

// A preset under the name of a recipe of ExecuTorch: the backend that lists it, and rules of --quantize.
struct BackendRecipe {
  std::string name = {};         // "xnnpack_fp32"
  std::string description = {};  // one line
  std::vector<std::string> quantize = {};
};

struct BackendEntry {
  std::string name;         // "xnnpack"
  std::string description;  // one line
  std::unique_ptr<Backend> backend;
  std::function<Result<std::unique_ptr<Partitioner>>(const BackendOptions&)> make_partitioner;
  std::function<std::vector<SupportRow>()> support;
  std::vector<std::pair<std::string, std::string>> options;  // key, meaning
  std::vector<std::string> libraries;  // libraries of its ops, for BackendOps::add_library()
  // Backend ops, bound to their patterns before partitioning. Undelegated ops without a kernel are expanded
  // to their patterns again.
  std::vector<BackendOpSpec> ops;
  // Pass all partitions of a program to a single preprocess_multimethod() call, in one process.
  bool together = false;
  // Reports recommend it to those who asked for no backend. False for sample code, for formats that no runtime executes,
  // and for hardware that few machines have.
  bool is_recommended = true;
  std::vector<BackendRecipe> recipes = {};
  // Options, key and value, that change how fast delegates are, but not what they compute: `depute tune` tries them.
  std::vector<std::pair<std::string, std::string>> tunable = {};
  // Tells what this machine lacks to preprocess: "Arm's Vela (pip install ...)". Null or an empty text: nothing.
  std::function<std::string()> missing = {};

  bool is_ready() const { return !missing || missing().empty(); }
};

// Makes the entry's partitioner or support matrix. Fails, naming the backend, if the entry has none.
DEPUTE_API Result<std::unique_ptr<Partitioner>> make_partitioner(const BackendEntry& entry,
                                                                 const BackendOptions& options);
DEPUTE_API Result<std::vector<SupportRow>> support_matrix(const BackendEntry& entry);
// Returns rows as a JSON list, as `depute backends NAME --json` prints them:
//
//   {"op": "aten.tan.default", "conditions": "", "types": ["f32"], "mixes_types": false, "layouts": [],
//    "forms": [[{"of": "x", "kind": "rank", "least": 1, "most": 4}]]}
DEPUTE_API std::string support_json(std::span<const SupportRow> rows);

// Its backends are code of others: what they throw is an error with the backend's name and the function.
class DEPUTE_API Registry {
 public:
  // Adds a backend and its ops. Fails for an entry without name, backend or id, for a duplicate name or id,
  // and for invalid ops; then no op is added. An entry without make_partitioner or support can still be a
  // target of the caller's own partitioners.
  Status add(BackendEntry entry);
  // Adds an entry and removes entries with the same name or backend id; their ops remain.
  Status put(BackendEntry entry);
  // Adds ops of the application's libraries with the kernels that it registers for them. Each line of a
  // manifest has torch's schema and the kernel (docs/cli.md, "Kernels of your own"). Adds nothing if a line
  // is invalid. `name` is the manifest's name in messages.
  Status add_kernels(std::string_view manifest, std::string_view name = "<manifest>");
  // Replaces the registered backend with the same id; its partitioner and ops remain. Fails if there is none.
  Status replace(std::unique_ptr<Backend> backend);
  const BackendEntry* find(std::string_view name) const;
  const Backend* find_backend(std::string_view backend_id) const;
  // The backend that lists a recipe, and the recipe. Fails with the code "usage" for an unknown name.
  Result<std::pair<const BackendEntry*, const BackendRecipe*>> find_recipe(std::string_view name) const;
  const std::vector<BackendEntry>& entries() const { return entries_; }
  // Op table with PyTorch's ops and the entries' backend ops.
  std::shared_ptr<const BackendOps> ops() const { return ops_; }

 private:
  Status add_guarded(BackendEntry entry);

  std::shared_ptr<BackendOps> ops_ = std::make_shared<BackendOps>();
  std::vector<BackendEntry> entries_;
};

// Returns the options that a recipe stands for: "--backend xnnpack --quantize static".
DEPUTE_API std::string options_text(const BackendEntry& entry, const BackendRecipe& recipe);

// Registers the backends in all folders below backends/, in name order. Generated by the build.
DEPUTE_API Registry make_registry();

}  // namespace depute
