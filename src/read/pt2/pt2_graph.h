// Reads the graphs of a .pt2 program: inputs, nodes in order, outputs, control-flow bodies.
//
//   {"target": "torch.ops.aten.add.Tensor",
//    "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
//               {"name": "other", "arg": {"as_tensor": {"name": "y"}}, "kind": 1},
//               {"name": "alpha", "arg": {"as_int": 2}, "kind": 2}],
//    "outputs": [{"as_tensor": {"name": "add"}}], ...}
//     ->  %add: f32[2, 3] = aten.add.Tensor(%x, %y, alpha=2)
//
// Names are local to a graph: bodies see only their own inputs and nodes.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"
#include "read/json.h"
#include "read/pt2/correct_sizes.h"
#include "read/pt2/pt2_types.h"

namespace depute {

// State shared by the graphs of one program.
struct ProgramCounters {
  std::uint32_t nodes = 0;  // also the last debug handle
  std::unordered_set<std::string> graph_names;
};

// State shared by the graphs of one method.
struct MethodScope {
  Method& method;
  SymbolReader& symbols;
  ProgramCounters& counters;
  const Program& program;
};

// A weight of a tensor subclass. Only its parts are values of the program.
struct SubclassValue {
  std::string class_name;
  std::map<std::string, Value*, std::less<>> values;  // parts that are plain tensors
  std::map<std::string, std::shared_ptr<const SubclassValue>, std::less<>> subclasses;  // other parts
};

class GraphReader {
 public:
  // `depth` is the number of enclosing graphs.
  GraphReader(MethodScope& scope, Graph& graph, std::size_t depth)
      : scope_(scope), graph_(graph), depth_(depth), sizes_(graph, scope.program.ranges) {}
  GraphReader(const GraphReader&) = delete;
  GraphReader& operator=(const GraphReader&) = delete;

  Graph& graph() const { return graph_; }

  // Call these in this order; `graph` is the JSON object of the graph and must outlive the reader.
  Status index_types(const Json& graph);
  Status read_inputs(const Json& graph);
  Status read_nodes(const Json& graph);
  Status read_outputs(const Json& graph);

  // Reads a graph input. `constant_name` is set for an input that is a bare constant.
  Result<Value*> read_input(const Json& argument, std::string_view constant_name);
  // Binds the name of `argument`, a tensor, to a subclass.
  Status define_subclass(const Json& argument, std::shared_ptr<const SubclassValue> subclass);

  // Returns the value with this name.
  Result<Value*> value(const Json& name) const;
  // Reads the body in {"name": ..., "graph": ...} and adds it to the method.
  Result<Graph*> read_body(const Json& json);

 private:
  struct TypeTable {
    std::optional<Json> json;
    std::unordered_map<std::string_view, Json> members;
  };
  struct Binding {
    Value* value = nullptr;
    std::shared_ptr<const SubclassValue> subclass;
  };
  struct Definition {
    std::string_view name;  // empty for an unnamed result
    Type type;
  };
  struct Call {
    Name op;
    std::vector<Argument> args;
    std::vector<NamedArgument> kwargs;
    std::vector<Definition> results;
  };

  Status index_table(const Json& graph, std::string_view key, TypeTable& table);
  Status read_node(const Json& json);
  Result<Call> read_call(const Json& json);
  Status read_call_inputs(const Json& json, Call& call);
  Status name_delegate(const Json& target, Call& call) const;
  Status read_named_argument(const Json& json, Call& call);
  Status read_subclass_access(const Json& json);
  Result<Binding> read_part(const Json& inputs) const;
  Status read_definitions(const Json& argument, std::vector<Definition>& definitions);
  Status read_definition(std::string_view kind, const Json& json, std::vector<Definition>& definitions);
  Result<Type> type_of(std::string_view kind, const Json& name) const;
  Result<std::string_view> reserve(const Json& name);
  std::vector<ResultSpec> result_specs(const Json& json, const Call& call) const;

  MethodScope& scope_;
  Graph& graph_;
  std::size_t depth_;
  SizeCorrector sizes_;
  TypeTable tensors_;
  TypeTable sym_ints_;
  TypeTable sym_floats_;
  TypeTable sym_bools_;
  TypeTable custom_objs_;
  std::unordered_map<std::string_view, Binding> bindings_;  // names point into the JSON document
};

}  // namespace depute
