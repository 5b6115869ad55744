// A program as torch.export describes it, in memory: the entries of a .pt2 archive as values instead of
// files.
//
//   models/model.json          ->  program:  {"graph_module": {"graph": {"nodes": [...], ...}, ...}, ...}
//   ..._weights_config.json    ->  weights:  {"config": {"conv.weight": {"path_name": "0", "tensor_meta": ...}}}
//   data/weights/weight_0      ->  storages: {"0": the tensor's own memory}
//
// The words are those of torch's schema (torch/_export/serde/schema.py). Compiler::load() reads a model as it
// reads a file of the same content; weights are used where they lie.
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

#include "depute/data.h"
#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

// What JSON has, with integers and floating-point numbers apart. A number may also be infinite or none here.
struct SchemaValue {
  using List = std::vector<SchemaValue>;
  using Object = std::vector<std::pair<std::string, SchemaValue>>;
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Object> value = nullptr;

  // Of an object; null when there is none, or this is no object.
  const SchemaValue* member(std::string_view key) const;
};

struct ExportedModel {
  SchemaValue program;
  // PayloadConfigs. A tensor subclass has "subclass_name" and "parts", a PayloadMeta for each of its tensors
  // by attribute, in the place of "path_name".
  SchemaValue weights;
  SchemaValue constants;
  std::map<std::string, std::shared_ptr<const Storage>, std::less<>> storages;  // by "path_name"
  // By what calls of higher_order.executorch_call_delegate have as their first argument, "as_string". The
  // program gets them under these names; their debug handles are moved behind those of its own nodes.
  std::map<std::string, std::shared_ptr<const Delegate>, std::less<>> delegates = {};
};

// Memory of someone else, which lives as long as `owner` and must not change while a program uses it.
std::shared_ptr<const Storage> borrowed_storage(std::span<const std::byte> bytes,
                                                std::shared_ptr<const void> owner);

// What torch's reader (torch/_export/serde/serialize.py) takes for a method.
struct TorchSchemaOptions {
  // As ExecuTorch's Edge dialect has it: views are copies, aten.permute_copy.default.
  bool is_edge = false;
  // Calls of delegates, which are refused else, call empty graphs for the caller to fill in: lowered_module_0
  // and so on in each graph's order.
  bool calls_delegates = false;
  // Arguments and results are tuples, whatever trees the model has of them: as calls of a delegate have them.
  bool is_flat = false;
  // Arguments of ops that the program's table does not know have "" as name, for the caller to fill in;
  // such ops are refused else.
  bool leaves_names = false;
};

// A method as JSON text in the words of torch's schema, without weights. Fails for what torch has no form
// of: tokens, custom objects, ops without a schema.
Result<std::string> torch_schema(const Program& program, const Method& method,
                                 const TorchSchemaOptions& options = {});

// A program of one method, before any part of it was delegated, as a .pt2 archive that torch.export.load
// reads.
Result<std::vector<std::byte>> pt2_bytes(const Program& program);

// What that tells torch to take the symbols of a method's inputs to be: a prime of its own each, within its
// bounds, for torch takes sizes of one number for one size.
std::map<std::string, std::int64_t, std::less<>> example_sizes(const Program& program, const Method& method);

}  // namespace depute

#pragma GCC visibility pop
