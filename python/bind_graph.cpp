// Converts graphs to FX graphs: one Python node per input, call, extracted result and return, in order.
//
//   %a: f32[2], %b: f32[2] = aten.split.Tensor(%x, 2)       x      placeholder
//   return %b                                        ->     split  call_function aten.split.Tensor
//                                                           a, b   call_function getitem
//                                                           output
//
// Like in FX, a call of a delegate or a body has a get_attr node for the callee. Values, targets and source
// locations are objects of depute/graph.py and depute/values.py, without pointers into the program.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <unordered_map>
#include <unordered_set>

#include "bind.h"
#include "depute/program/op.h"

namespace depute::python {
namespace {

nb::str text(std::string_view view) {
  return nb::str(view.data(), view.size());
}
nb::str text(Name symbol) {
  return text(symbol.str());
}

// The Python classes used for a method's graphs.
struct Classes {
  nb::module_ graph = nb::module_::import_("depute.graph");
  nb::module_ values = nb::module_::import_("depute.values");
  nb::object make_graph = graph.attr("Graph");
  nb::object make_node = graph.attr("Node");
  nb::object make_source = graph.attr("Source");
  nb::object read_custom = graph.attr("read_custom");
  nb::object make_op = graph.attr("Op").attr("of");
  nb::object getitem = graph.attr("getitem");
  nb::object make_tensor = values.attr("Value");
  nb::object make_sym = values.attr("SymInt");
  nb::object make_sym_float = values.attr("SymFloat");
  nb::object make_sym_bool = values.attr("SymBool");
  nb::object make_dtype = values.attr("DType").attr("of");
  nb::object make_name = values.attr("TorchName");
};

bool gives_one(const Node& node) {
  const OpDef* def = node.def();
  if (node.results().size() != 1) return false;
  return def == nullptr || (def->returns.size() == 1 && !def->returns[0].is_list &&
                            !def->is(OpFlag::Variadic) && !def->is(OpFlag::ControlFlow));
}

class Reader {
 public:
  explicit Reader(const Ranges* ranges) : ranges_(ranges) {}

  nb::list read(const Method& method) {
    nb::list graphs;
    std::vector<const Graph*> pending = {method.graph.get()};
    while (!pending.empty()) {
      const Graph* graph = pending.back();
      pending.pop_back();
      if (!graphs_.insert(graph).second) continue;
      bodies_.clear();
      graphs.append(read(*graph, graph == method.graph.get() ? &method : nullptr));
      pending.insert(pending.end(), bodies_.rbegin(), bodies_.rend());
    }
    return graphs;
  }

  nb::object read_alone(const Node& node) {
    graph_ = nb::none();
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value* value = node.operand(i);
      if (nodes_.contains(value)) continue;
      const Node* producer = value->producer();
      nb::dict meta;
      meta["val"] = value_of(value->type());
      nodes_[value] = add_node(producer == nullptr ? "placeholder" : "call_function", text(value->name()),
                               producer == nullptr ? nb::object(text(value->name())) : op(producer->op()),
                               nb::tuple(), nb::dict(), nb::list(), meta, nb::none());
    }
    return call(node, -1);
  }

 private:
  nb::object read(const Graph& graph, const Method* method) {
    graph_ = classes_.make_graph(text(graph.name()));
    take_names(graph);
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) add_input(*graph.inputs()[i], method, i);
    std::int64_t position = 0;
    for (const Node& node : graph.nodes()) add_call(node, position++);
    nb::list inputs;
    nb::list results;
    for (const Argument& output : graph.outputs()) results.append(argument(output, inputs));
    nb::tuple outputs = nb::make_tuple(nb::tuple(results));
    nb::dict meta;
    graph_.attr("_append")(
        add_node("output", unique("output"), text("output"), outputs, nb::dict(), inputs, meta, nb::none()));
    return graph_;
  }

  void take_names(const Graph& graph) {
    names_.clear();
    for (const Value* input : graph.inputs()) names_.insert(std::string(input->name().str()));
    for (const Node& node : graph.nodes()) {
      for (const Value* result : node.results()) names_.insert(std::string(result->name().str()));
    }
    attributes_.clear();
  }

  nb::str unique(std::string_view wanted) {
    std::string name(wanted);
    for (int i = 1; !names_.insert(name).second; ++i) name = std::string(wanted) + "_" + std::to_string(i);
    return text(name);
  }

  nb::object add_node(const char* kind, nb::object name, nb::object target, nb::object args,
                      nb::object kwargs, nb::object inputs, nb::object meta, nb::object position) {
    return classes_.make_node(graph_, text(kind), name, target, args, kwargs, inputs, meta, position);
  }

  void add_input(const Value& input, const Method* method, std::size_t index) {
    nb::dict meta;
    meta["val"] = value_of(input.type());
    if (method != nullptr && method->inputs[index].constant) {
      nb::list none;
      meta["val"] = argument(*method->inputs[index].constant, none);
    }
    nb::object node = add_node("placeholder", text(input.name()), text(input.name()), nb::tuple(), nb::dict(),
                               nb::list(), meta, nb::int_(index));
    graph_.attr("_append")(node);
    nodes_[&input] = node;
  }

  void add_call(const Node& node, std::int64_t position) {
    nb::object made = call(node, position);
    graph_.attr("_append")(made);
    if (gives_one(node)) {
      nodes_[node.result()] = made;
      return;
    }
    for (std::size_t i = 0; i < node.results().size(); ++i) {
      const Value& result = *node.result(i);
      if (result.type().kind == Type::Kind::None) continue;
      nb::dict meta = origin(node);
      meta["val"] = value_of(result.type());
      nb::list inputs;
      inputs.append(made);
      nb::object taken = add_node("call_function", text(result.name()), classes_.getitem,
                                  nb::make_tuple(made, i), nb::dict(), inputs, meta, nb::none());
      graph_.attr("_append")(taken);
      nodes_[&result] = taken;
    }
  }

  nb::object call(const Node& node, std::int64_t position) {
    nb::list inputs;
    nb::list args;
    for (const Argument& arg : node.args()) args.append(argument(arg, inputs));
    nb::dict kwargs;
    for (const auto& [key, arg] : node.kwargs()) kwargs[text(key)] = argument(arg, inputs);
    nb::dict meta = origin(node);
    if (!node.tag.empty()) meta["delegation_tag"] = text(node.tag);
    bool one = gives_one(node);
    meta["val"] = one ? value_of(node.result()->type()) : values_of(node);
    std::string_view op_name = node.op().str();
    std::size_t dot = op_name.find('.');
    std::string_view short_name = dot == op_name.npos ? op_name : op_name.substr(dot + 1);
    short_name = short_name.substr(0, short_name.find('.'));
    bool is_delegate = !node.args().empty() && node.args()[0].kind == Argument::Kind::Delegate;
    if (is_delegate) short_name = "executorch_call_delegate";
    nb::object name = one ? text(node.result()->name()) : unique(short_name);
    nb::object target = is_delegate ? op(Name::scoped(short_name)) : op(node.op());
    return add_node("call_function", name, target, nb::tuple(args), kwargs, inputs, meta, nb::int_(position));
  }

  nb::dict origin(const Node& node) {
    nb::dict meta;
    if (node.debug_handle != 0) meta["debug_handle"] = node.debug_handle;
    if (node.source != nullptr) meta["source"] = source(*node.source);
    if (node.source != nullptr && !node.source->custom.empty())
      meta["custom"] = classes_.read_custom(text(node.source->custom));
    if (!node.replaced.empty()) {
      nb::list handles;
      for (const NodeOrigin& each : node.replaced) {
        if (each.debug_handle != 0) handles.append(each.debug_handle);
      }
      meta["debug_handles"] = nb::tuple(handles);
    }
    return meta;
  }

  nb::object source(const SourceLocation& place) {
    nb::object& made = sources_[&place];
    if (!made.is_valid()) {
      made = classes_.make_source(text(place.file), place.line, text(place.module_path),
                                  text(place.original_op), text(place.str()));
    }
    return made;
  }

  nb::object op(Name name) {
    nb::object& made = ops_[name];
    if (!made.is_valid()) made = classes_.make_op(text(name));
    return made;
  }

  // Returns the get_attr node for a body or a delegate of the graph's module.
  nb::object attribute(Name name, const char* table, nb::list& inputs) {
    nb::object& made = attributes_[name];
    if (!made.is_valid()) {
      nb::dict of_kind = nb::cast<nb::dict>(graph_.is_none() ? nb::object(nb::dict()) : graph_.attr(table));
      std::string wanted(name.str());
      if (std::string_view(table) == "_delegates")
        wanted = "lowered_module_" + std::to_string(of_kind.size());
      nb::str unique_name = unique(wanted);
      of_kind[unique_name] = text(name);
      made = add_node("get_attr", unique_name, unique_name, nb::tuple(), nb::dict(), nb::list(), nb::dict(),
                      nb::none());
      if (!graph_.is_none()) graph_.attr("_append")(made);
    }
    inputs.append(made);
    return made;
  }

  nb::object argument(const Argument& arg, nb::list& inputs) {
    switch (arg.kind) {
      case Argument::Kind::None:
        return nb::none();
      case Argument::Kind::Value: {
        nb::object node = nodes_.at(arg.as_value());
        inputs.append(node);
        return node;
      }
      case Argument::Kind::Int:
        return nb::int_(arg.as_int());
      case Argument::Kind::Float:
        return nb::float_(arg.as_double());
      case Argument::Kind::Bool:
        return nb::bool_(arg.as_bool());
      case Argument::Kind::Complex: {
        std::span<const Argument> parts = arg.as_list();
        return nb::steal(PyComplex_FromDoubles(parts[0].as_double(), parts[1].as_double()));
      }
      case Argument::Kind::String:
        return text(arg.as_symbol());
      case Argument::Kind::ScalarType:
        return dtype(arg.as_scalar_type());
      case Argument::Kind::MemoryFormat:
      case Argument::Kind::Layout:
        return classes_.make_name(arg.kind == Argument::Kind::Layout ? "layout" : "memory_format",
                                  arg.as_int());
      case Argument::Kind::Device:
        return classes_.make_name("device", text(arg.as_symbol()));
      case Argument::Kind::List: {
        nb::list list;
        for (const Argument& element : arg.as_list()) list.append(argument(element, inputs));
        return list;
      }
      case Argument::Kind::Graph:
        bodies_.push_back(arg.as_graph());
        return attribute(arg.as_graph()->name(), "_bodies", inputs);
      case Argument::Kind::Operator:
        return op(arg.as_symbol());
      case Argument::Kind::Delegate:
        return attribute(arg.as_symbol(), "_delegates", inputs);
      case Argument::Kind::Map: {
        nb::dict map;
        for (const auto& [key, value] : arg.as_map()) map[text(key)] = argument(value, inputs);
        return map;
      }
    }
    return nb::none();
  }

  nb::object dtype(ScalarType type) { return classes_.make_dtype(text(torch_name(type))); }

  nb::object size(const SymInt& value) {
    if (value.is_constant()) return nb::int_(value.value());
    nb::object& made = sizes_[value.expr()];
    if (!made.is_valid()) {
      Range range = ranges_ == nullptr ? Range{} : bounds(value, *ranges_);
      nb::object low = range.min == Range::min_bound ? nb::none() : nb::object(nb::int_(range.min));
      nb::object high = range.max == Range::max_bound ? nb::none() : nb::object(nb::int_(range.max));
      made = classes_.make_sym(text(value.str()), low, high);
    }
    return made;
  }

  nb::object values_of(const Node& node) {
    nb::list values;
    for (const Value* result : node.results()) values.append(value_of(result->type()));
    return values;
  }

  nb::object sym_value_of(const Type& type) {
    if (type.kind == Type::Kind::SymInt && type.expr != nullptr) return size(SymInt(type.expr));
    nb::object& make = type.kind == Type::Kind::SymFloat  ? classes_.make_sym_float
                       : type.kind == Type::Kind::SymBool ? classes_.make_sym_bool
                                                          : classes_.make_sym;
    return make(text(type.expr == nullptr ? str(type) : str(type.expr)), nb::none(), nb::none());
  }

  nb::object value_of(const Type& type) {
    switch (type.kind) {
      case Type::Kind::Tensor: {
        nb::list sizes;
        nb::list strides;
        const TensorType& tensor = type.tensor;
        for (const SymInt& each : tensor.sizes) sizes.append(size(each));
        for (const SymInt& each :
             tensor.is_contiguous() ? contiguous_strides(tensor.sizes) : tensor.strides) {
          strides.append(size(each));
        }
        return classes_.make_tensor(dtype(tensor.dtype), nb::tuple(sizes), nb::tuple(strides),
                                    tensor.is_contiguous());
      }
      case Type::Kind::SymInt:
      case Type::Kind::SymFloat:
      case Type::Kind::SymBool:
        return sym_value_of(type);
      case Type::Kind::None:
        return nb::none();
      case Type::Kind::CustomObj:
      case Type::Kind::Token:
      case Type::Kind::String:
      case Type::Kind::Int:
      case Type::Kind::Float:
      case Type::Kind::Bool:
        return text(str(type));
    }
    return nb::none();
  }

  const Ranges* ranges_;
  Classes classes_;
  nb::object graph_ = nb::none();
  std::unordered_set<std::string> names_;
  std::unordered_set<const Graph*> graphs_;
  std::vector<const Graph*> bodies_;  // bodies of the current graph
  std::unordered_map<const Value*, nb::object> nodes_;
  std::unordered_map<Name, nb::object> attributes_;
  std::unordered_map<Name, nb::object> ops_;
  std::unordered_map<const SourceLocation*, nb::object> sources_;
  std::unordered_map<const SymExpr*, nb::object> sizes_;
};

}  // namespace

nb::list read_method(const Program& program, const Method& method) {
  return Reader(&program.ranges).read(method);
}

nb::object read_node(const Node& node) {
  return Reader(nullptr).read_alone(node);
}

}  // namespace depute::python
