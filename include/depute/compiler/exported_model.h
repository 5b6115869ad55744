// ExportedModel: a program as torch.export serializes it, but in memory. The entries of a .pt2 archive are
// values instead of files.
//
//   models/model.json        ->  program:  {"graph_module": {"graph": {"nodes": [...], ...}, ...}, ...}
//   ..._weights_config.json  ->  weights:  {"config": {"conv.weight": {"path_name": "0", ...}}}
//   data/weights/weight_0    ->  storages: {"0": the tensor's own memory}
//
// Names are those of torch's schema (torch/_export/serde/schema.py). Compiler::load() reads a model like a
// file with the same content; weights are used in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "depute/api.h"
#include "depute/program/data.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// A JSON value with separate integers and floating-point numbers. Unlike in JSON, a number may be infinite or
// NaN.
struct DEPUTE_API SchemaValue {
  using List = std::vector<SchemaValue>;
  using Object = std::vector<std::pair<std::string, SchemaValue>>;
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Object> value = nullptr;

  // Returns the member of an object; null if it is missing or this value is not an object.
  const SchemaValue* member(std::string_view key) const;
};

struct ExportedModel {
  SchemaValue program;
  // PayloadConfigs. For a tensor subclass, "subclass_name" and "parts" (a PayloadMeta per inner tensor, by
  // attribute) replace "path_name".
  SchemaValue weights;
  SchemaValue constants;
  std::map<std::string, std::shared_ptr<const Storage>, std::less<>> storages;  // by "path_name"
  // Delegates by the first argument ("as_string") of higher_order.executorch_call_delegate. The program keeps
  // these names. Debug handles of delegates are renumbered behind the handles of the program's nodes.
  std::map<std::string, std::shared_ptr<const Delegate>, std::less<>> delegates = {};
};

// Storage over memory of the caller. `owner` keeps it alive; it must not change while a program uses it.
DEPUTE_API std::shared_ptr<const Storage> borrowed_storage(std::span<const std::byte> bytes,
                                                           std::shared_ptr<const void> owner);

// Options of torch_schema(), for torch's deserializer (torch/_export/serde/serialize.py).
struct TorchSchemaOptions {
  // ExecuTorch's Edge dialect: views become copies, aten.permute_copy.default.
  bool is_edge = false;
  // Delegate calls, otherwise an error, become calls of empty graphs that the caller fills in:
  // lowered_module_0 and so on, in the order of each graph.
  bool calls_delegates = false;
  // Arguments and results become flat tuples, as in delegate calls, whatever their pytree structure.
  bool is_flat = false;
  // Arguments of unknown ops get the empty name, for the caller to fill in. Otherwise such ops are an error.
  bool leaves_names = false;
};

// Returns a method as JSON text in torch's schema, without weights. Fails for tokens, custom objects and ops
// without a schema, which torch's schema cannot express.
DEPUTE_API Result<std::string> torch_schema(const Program& program, const Method& method,
                                            const TorchSchemaOptions& options = {});

// Returns an undelegated program of one method as a .pt2 archive for torch.export.load.
DEPUTE_API Result<std::vector<std::byte>> pt2_bytes(const Program& program);

// Returns the example value for each symbol of the method's inputs that pt2_bytes() and torch_schema()
// record. Each symbol gets a different prime within its bounds, because torch identifies sizes with equal
// example values.
DEPUTE_API std::map<std::string, std::int64_t, std::less<>> example_sizes(const Program& program,
                                                                          const Method& method);

}  // namespace depute
