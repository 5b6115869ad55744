// Serializes a method in torch's schema (torch/_export/serde/schema.py), which read/pt2/pt2_graph.cpp reads.
// Python's to_torch() passes the result to torch's own reader.
//
//   %y: f32[2] = aten.relu.default(%x) #3
//     ->  {"target": "torch.ops.aten.relu.default", ..., "metadata": {"torch_fn": "relu;function.relu"}}
//     ->  {..., "metadata": {"debug_handle": "3", ...}}                       Pt2Options::is_exir
//
// write/pt2_sizes.h serializes the sizes.
#include "write/pt2_program.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <set>
#include <unordered_map>

#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "ir/program_names.h"
#include "ops/control/control_flow.h"
#include "ops/own_ops.h"
#include "support/try.h"
#include "write/pt2_sizes.h"

namespace depute {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema_major = 8;
constexpr int schema_minor = 20;
constexpr int aten_opset = 10;
constexpr int strided = 7;
constexpr int positional = 1;
constexpr int keyword = 2;

std::int64_t pt2_number(ScalarType dtype) {
  for (std::int64_t number = 0; number < 2 * scalar_type_count; ++number) {
    if (scalar_type_from_pt2(number) == dtype) return number;
  }
  return 0;
}

// Target of delegate calls in graphs.
constexpr std::string_view delegate_target = "torch.ops.higher_order.executorch_call_delegate";

// If all elements have kind `first` or `second`, the list has kind `list`; with `tells_kinds` each element
// keeps its kind.
struct Pt2List {
  std::string_view first;
  std::string_view second;
  std::string_view list;
  bool tells_kinds = false;
};
constexpr std::array<Pt2List, 11> pt2_lists = {{{"as_int", "", "as_ints"},
                                                {"as_tensor", "", "as_tensors"},
                                                {"as_bool", "", "as_bools"},
                                                {"as_float", "", "as_floats"},
                                                {"as_string", "", "as_strings"},
                                                {"as_int", "as_sym_int", "as_sym_ints"},
                                                {"as_float", "as_sym_float", "as_sym_floats"},
                                                {"as_bool", "as_sym_bool", "as_sym_bools"},
                                                {"as_tensor", "as_none", "as_optional_tensors", true},
                                                {"as_tensors", "", "as_nested_tensors"},
                                                {"as_ints", "", "as_int_lists"}}};

// "fc.weight.8" -> "fc_weight_8".
std::string python_name(std::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0 ? "_" + name : name;
}

std::string torch_target(std::string_view op) {
  for (std::string_view own : {"_operator.", "torch.", "math."}) {
    if (op.starts_with(own)) return std::string(op);
  }
  return fmt::format("torch.ops.{}", op);
}

bool is_torch_view(const Node& node) {
  const OpDef* def = node.def();
  return def != nullptr && !def->args.empty() && def->args[0].is_aliased && !def->args[0].is_written;
}

bool is_any_reshape(const Node& node) {
  return node.def() != nullptr && node.def()->view_kind == ViewKind::Reshape;
}

// True for a reshape to a shape argument, which not all strides allow. An unsqueeze has no shape argument.
bool is_reshape(const Node& node) {
  return is_any_reshape(node) && node.def()->args.size() > 1 && node.def()->args[1].is_list;
}

// True if dense results replace strided views of torch, since layouts were dropped.
bool has_dense_views(const Graph& graph) {
  bool has_views = false;
  for (const Node& node : graph.nodes()) {
    for (const Value* result : node.results()) {
      if (result->type().is_tensor() && !result->type().tensor.is_contiguous()) return false;
    }
    has_views |= is_torch_view(node) && !is_reshape(node);
  }
  return has_views;
}

// Returns the copy variant of a view, "library.view_copy.overload", or the op itself if it has none.
std::string copy_variant(const Node& node) {
  std::string twin(node.op().str());
  const std::size_t dot = twin.rfind('.');
  if (dot == twin.npos) return twin;
  twin.insert(dot, "_copy");
  return node.graph().ops().find(Name::scoped(twin)) == nullptr ? std::string(node.op().str()) : twin;
}

// Returns the modules around a node, outermost first, by torch.export's keys. Their classes are not known.
//
//   "a.fc"  ->  "L__self__,,M;L__self__a,a,M;L__self__a.fc,a.fc,M", where M is torch.nn.modules.module.Module
std::string module_stack(std::string_view path) {
  if (path.find_first_of(",;()[]") != path.npos) path = {};  // separators, as torch reads a stack
  std::string stack;
  for (std::size_t end = 0;; end = path.find('.', end + 1)) {
    const std::string_view part = path.substr(0, end);
    stack +=
        fmt::format("{}L__self__{},{},torch.nn.modules.module.Module", stack.empty() ? "" : ";", part, part);
    if (part.size() == path.size()) return stack;
  }
}

Json source_json(const SourceLocation& source, bool has_stack) {
  Json metadata = Json::object();
  if (!source.file.empty())
    metadata["stack_trace"] =
        fmt::format("  File \"{}\", line {}, in {}\n{}", source.file.str(), source.line,
                    source.function.empty() ? "forward" : source.function.str(),
                    source.line_text.empty() ? "" : fmt::format("    {}\n", source.line_text.str()));
  if (has_stack) {
    metadata["nn_module_stack"] = module_stack(source.module_path.str());
  } else if (!source.module_path.empty()) {
    metadata["nn_module_stack"] =
        fmt::format("module,{},torch.nn.modules.module.Module", source.module_path.str());
  }
  if (!source.original_op.empty())
    metadata["torch_fn"] = fmt::format("{0};function.{0}", source.original_op.str());
  if (!source.custom.empty()) metadata["custom"] = source.custom.str();
  return metadata;
}

Json tensor_meta(const TensorType& type, std::int64_t offset, Pt2Sizes& sizes) {
  Json meta = {{"dtype", pt2_number(type.dtype)}, {"sizes", Json::array()}, {"requires_grad", false}};
  for (const SymInt& size : type.sizes) meta["sizes"].push_back(sizes.size(size));
  meta["device"] = {{"type", "cpu"}, {"index", nullptr}};
  meta["strides"] = Json::array();
  for (const SymInt& stride : type.is_contiguous() ? contiguous_strides(type.sizes) : type.strides)
    meta["strides"].push_back(sizes.size(stride));
  meta["storage_offset"] = {{"as_int", offset}};
  meta["layout"] = strided;
  return meta;
}

// Writes one graph; each body has a writer of its own.
class Pt2GraphWriter {
 public:
  Pt2GraphWriter(Pt2Sizes& sizes, const Pt2Options& options) : sizes_(sizes), options_(options) {}

  Result<Json> write(const Graph& graph, std::span<const InputSpec> specs = {}) {
    graph_ = &graph;
    for (const Node& node : graph.nodes()) {
      if (!is_any_reshape(node)) computed_.insert(node.debug_handle);
    }
    has_dense_views_ = has_dense_views(graph);
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      const bool is_constant = i < specs.size() && specs[i].constant.has_value();
      TRY(Json input, is_constant ? argument(*specs[i].constant) : define(*graph.inputs()[i]));
      inputs_.push_back(std::move(input));
    }
    for (const Node& node : graph.nodes()) {
      auto told = call(node);
      if (!told) return node_failure(node, "write_pt2", told.error().message, told.error().hint);
      nodes_.push_back(std::move(*told));
    }
    for (const Argument& output : graph.outputs()) {
      TRY(Json told, argument(output));
      outputs_.push_back(std::move(told));
    }
    return Json{{"inputs", inputs_},
                {"outputs", outputs_},
                {"nodes", std::move(nodes_)},
                {"tensor_values", std::move(tensors_)},
                {"sym_int_values", std::move(sym_ints_)},
                {"sym_bool_values", std::move(sym_bools_)},
                {"is_single_tensor_return", false},
                {"custom_obj_values", Json::object()},
                {"sym_float_values", std::move(sym_floats_)}};
  }

  const Json& inputs() const { return inputs_; }
  const Json& outputs() const { return outputs_; }

 private:
  static Failure unknown(std::string_view message, std::string_view hint = {}) {
    return failure("write_pt2", "", message, hint);
  }

  // Torch's names are Python's: "fc.weight.int8" becomes "fc_weight_int8". ExecuTorch's Inspector knows parts of a
  // result by "getitem" in their names.
  std::string name_of(const Value& value) {
    const auto [entry, is_new] = names_.try_emplace(&value);
    if (!is_new) return entry->second;
    const std::string_view own = value.name().str();
    std::string name = python_name(own);
    const bool is_part = value.producer() != nullptr && pt2_call_name(*value.producer()) != name;
    if (options_.is_exir && is_part && name.find("getitem") == name.npos) name = "getitem_" + name;
    while (name != own && (graph_->has_name(Name::scoped(name)) || !made_names_.insert(name).second))
      name += "_";
    return entry->second = std::move(name);
  }

  // Defines an input or a result: returns its kind and name, and adds its type to the table of its kind.
  Result<Json> define(const Value& value) {
    const Type& type = value.type();
    const std::string name = name_of(value);
    switch (type.kind) {
      case Type::Kind::Tensor:
        tensors_[name] = tensor_meta(type.tensor, 0, sizes_);
        return Json{{"as_tensor", {{"name", name}}}};
      case Type::Kind::SymInt:
        return define_symbolic(sym_ints_, "as_sym_int", name, type);
      case Type::Kind::SymFloat:
        return define_symbolic(sym_floats_, "as_sym_float", name, type);
      case Type::Kind::SymBool:
        return define_symbolic(sym_bools_, "as_sym_bool", name, type);
      case Type::Kind::None:
        return Json{{"as_none", true}};
      case Type::Kind::CustomObj:
      case Type::Kind::Token:
      case Type::Kind::String:
      case Type::Kind::Int:
      case Type::Kind::Float:
      case Type::Kind::Bool:
        break;
    }
    return unknown(fmt::format("%{} has type {}, which .pt2 files do not support", name, str(type)));
  }

  Result<Json> define_symbolic(Json& table, std::string_view kind, const std::string& name,
                               const Type& type) {
    if (type.expr == nullptr) return unknown(fmt::format("the value of %{} has no expression", name));
    table[name] = sizes_.expression(type.expr);
    return Json{{kind, {{"as_name", name}}}};
  }

  Result<Json> use(const Value& value) {
    const std::string name = name_of(value);
    switch (value.type().kind) {
      case Type::Kind::Tensor:
        return Json{{"as_tensor", {{"name", name}}}};
      case Type::Kind::SymInt:
        return Json{{"as_sym_int", {{"as_name", name}}}};
      case Type::Kind::SymFloat:
        return Json{{"as_sym_float", {{"as_name", name}}}};
      case Type::Kind::SymBool:
        return Json{{"as_sym_bool", {{"as_name", name}}}};
      default:
        return unknown(
            fmt::format("%{} has type {}, which .pt2 files do not support", name, str(value.type())));
    }
  }

  Result<Json> argument(const Argument& told) {
    switch (told.kind) {
      case Argument::Kind::None:
        return Json{{"as_none", true}};
      case Argument::Kind::Value:
        return use(*told.as_value());
      case Argument::Kind::Int:
        return Json{{"as_int", told.as_int()}};
      case Argument::Kind::Float:
        return Json{{"as_float", pt2_float(told.as_double())}};
      case Argument::Kind::Bool:
        return Json{{"as_bool", told.as_bool()}};
      case Argument::Kind::Complex:
        return Json{{"as_complex",
                     {{"real", pt2_float(told.as_list()[0].as_double())},
                      {"imag", pt2_float(told.as_list()[1].as_double())}}}};
      case Argument::Kind::String:
        return Json{{"as_string", told.as_symbol().str()}};
      case Argument::Kind::ScalarType:
        return Json{{"as_scalar_type", pt2_number(told.as_scalar_type())}};
      case Argument::Kind::MemoryFormat:
        return Json{{"as_memory_format", told.as_int()}};
      case Argument::Kind::Layout:
        return Json{{"as_layout", told.as_int()}};
      case Argument::Kind::Device:
        return device(told.as_symbol().str());
      case Argument::Kind::List:
        return list(told.as_list());
      case Argument::Kind::Graph: {
        TRY(Json body, Pt2GraphWriter(sizes_, options_).write(*told.as_graph()));
        return Json{{"as_graph", {{"name", told.as_graph()->name().str()}, {"graph", std::move(body)}}}};
      }
      case Argument::Kind::Operator:
        return Json{{"as_operator", torch_target(told.as_symbol().str())}};
      case Argument::Kind::Delegate:
        return delegate(told.as_symbol());
      case Argument::Kind::Map: {
        Json entries = Json::object();
        for (const NamedArgument& entry : told.as_map()) {
          TRY(Json value, argument(entry.value));
          entries[std::string(entry.name.str())] = std::move(value);
        }
        return Json{{"as_string_to_argument", std::move(entries)}};
      }
    }
    return unknown("an argument is of an unknown kind");
  }

  // Writes an empty graph for a delegate; the caller replaces it with its own representation.
  Result<Json> delegate(Name key) {
    if (!options_.calls_delegates)
      return unknown("it calls a delegate, which torch does not support",
                     "use the program before to_backend()");
    const std::string name = fmt::format("lowered_module_{}", delegates_.size());
    const auto [known, is_new] = delegates_.try_emplace(key, name);
    Json body = {{"inputs", Json::array()}, {"outputs", Json::array()}, {"nodes", Json::array()}};
    for (std::string_view table :
         {"tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values", "custom_obj_values"})
      body[table] = Json::object();
    body["is_single_tensor_return"] = false;
    return Json{{"as_graph", {{"name", known->second}, {"graph", std::move(body)}}}};
  }

  static Json device(std::string_view text) {
    const std::size_t colon = text.find(':');
    Json index = nullptr;
    if (colon != text.npos) index = std::stoll(std::string(text.substr(colon + 1)));
    return {{"as_device", {{"type", text.substr(0, colon)}, {"index", std::move(index)}}}};
  }

  Result<Json> list(std::span<const Argument> elements) {
    Json told = Json::array();
    std::set<std::string> kinds;
    for (const Argument& element : elements) {
      TRY(Json each, argument(element));
      kinds.insert(each.begin().key());
      told.push_back(std::move(each));
    }
    for (const Pt2List& known : pt2_lists) {
      auto fits = [&](const std::string& kind) { return kind == known.first || kind == known.second; };
      if (!std::ranges::all_of(kinds, fits)) continue;
      if (!known.tells_kinds) {
        for (Json& each : told) {
          // In a list with symbols, a number keeps its kind.
          const bool is_number = !known.second.empty() && each.begin().key() == known.first;
          if (!is_number) each = Json(each.begin().value());
        }
      }
      return Json{{known.list, std::move(told)}};
    }
    return unknown("an argument is a list of mixed kinds, which torch's schema does not support");
  }

  Result<Json> call(const Node& node) {
    const OpDef* def = node.def();
    std::string op(node.op().str());
    const bool is_delegate = is_delegate_call(node);
    if (def != nullptr && def->origin == OpOrigin::Compiler && !is_delegate)
      return unknown(fmt::format("{} is internal to the compiler and not available in torch", op));
    const bool is_higher_order = is_delegate || op.starts_with("higher_order.");
    Json inputs = Json::array();
    for (std::size_t i = 0; i < node.args().size(); ++i) {
      const bool is_named = def != nullptr && i < def->args.size() && !is_higher_order;
      TRY(Json told, argument(node.args()[i]));
      inputs.push_back({{"name", is_named ? def->args[i].name.str() : ""},
                        {"arg", std::move(told)},
                        {"kind", positional}});
    }
    if (def == nullptr && !options_.leaves_names && !node.args().empty() && op.find('.') != op.npos &&
        !is_higher_order && torch_target(op) != op)
      return unknown(fmt::format("the schema of {} is unknown, but torch requires argument names", op));
    for (const NamedArgument& named : node.kwargs()) {
      TRY(Json told, argument(named.value));
      inputs.push_back({{"name", named.name.str()}, {"arg", std::move(told)}, {"kind", keyword}});
    }
    // A view that is strided in torch but dense here may not be viewable in another shape.
    const bool needs_copy = options_.is_edge ? is_torch_view(node) : has_dense_views_ && is_reshape(node);
    if (needs_copy) op = copy_variant(node);
    // The test of a loop returns a tensor, not a tuple of one.
    if (control_flow_kind(node) == ControlFlow::Kind::WhileLoop)
      inputs[0]["arg"]["as_graph"]["graph"]["is_single_tensor_return"] = true;
    TRY(Json outputs, results(node));
    return Json{{"target", is_delegate ? std::string(delegate_target) : torch_target(op)},
                {"inputs", std::move(inputs)},
                {"outputs", std::move(outputs)},
                {"metadata", metadata(node)},
                {"is_hop_single_tensor_return", is_delegate ? Json(false) : Json(nullptr)},
                {"name", call_name(node)}};
  }

  Json metadata(const Node& node) const {
    Json told = node.source == nullptr ? Json::object() : source_json(*node.source, options_.is_exir);
    // A reshape costs no instruction. Without a handle, what Inspector compares is the value before it.
    const bool is_computed_before = is_any_reshape(node) && computed_.contains(node.debug_handle);
    if (options_.is_exir) told["debug_handle"] = std::to_string(is_computed_before ? 0 : node.debug_handle);
    return told;
  }

  std::string call_name(const Node& node) {
    const std::string name = pt2_call_name(node);
    const bool is_value = node.results().size() == 1 && name == python_name(node.results()[0]->name().str());
    return is_value ? name_of(*node.results()[0]) : name;
  }

  // Serializes the results; a list in the op's schema becomes a list.
  Result<Json> results(const Node& node) {
    Json all = Json::array();
    for (const Value* result : node.results()) {
      TRY(Json told, define(*result));
      all.push_back(std::move(told));
    }
    const OpDef* def = node.def();
    if (def == nullptr || def->is(OpFlag::ControlFlow)) return all;
    const auto list = std::ranges::find_if(def->returns, &ReturnDef::is_list);
    if (list == def->returns.end()) return all;
    const auto before = list - def->returns.begin();
    const auto behind = def->returns.end() - list - 1;
    Json tensors = Json::array();
    for (auto each = all.begin() + before; each != all.end() - behind; ++each)
      tensors.push_back(each->begin().value());
    Json told(all.begin(), all.begin() + before);
    told.push_back({{"as_tensors", std::move(tensors)}});
    told.insert(told.end(), all.end() - behind, all.end());
    return told;
  }

  Pt2Sizes& sizes_;
  const Pt2Options& options_;
  const Graph* graph_ = nullptr;
  std::set<std::uint32_t> computed_;  // debug handles of nodes that are no reshapes
  std::unordered_map<const Value*, std::string> names_;
  std::set<std::string> made_names_;
  std::unordered_map<Name, std::string> delegates_;
  bool has_dense_views_ = false;
  Json inputs_ = Json::array();
  Json outputs_ = Json::array();
  Json nodes_ = Json::array();
  Json tensors_ = Json::object();
  Json sym_ints_ = Json::object();
  Json sym_floats_ = Json::object();
  Json sym_bools_ = Json::object();
};

Result<Json> input_spec_json(const InputSpec& spec, const Value& input, const Json& argument) {
  const auto entry = argument.begin();
  const Json& named = entry.value();
  switch (spec.kind) {
    case InputSpec::Kind::UserInput:
      if (spec.constant)
        return Json{{"constant_input", {{"name", python_name(input.name().str())}, {"value", argument}}}};
      return Json{{"user_input", {{"arg", argument}}}};
    case InputSpec::Kind::Parameter:
      return Json{{"parameter", {{"arg", named}, {"parameter_name", spec.target.str()}}}};
    case InputSpec::Kind::Buffer:
      return Json{
          {"buffer", {{"arg", named}, {"buffer_name", spec.target.str()}, {"persistent", spec.persistent}}}};
    case InputSpec::Kind::Constant:
      return Json{{"tensor_constant", {{"arg", named}, {"tensor_constant_name", spec.target.str()}}}};
    case InputSpec::Kind::CustomObj:
    case InputSpec::Kind::Token:
      break;
  }
  return failure("write_pt2", fmt::format("input %{}", input.name().str()),
                 "objects and tokens cannot be written");
}

Result<Json> output_spec_json(const OutputSpec& spec, const Json& argument) {
  auto mutation = [&](std::string_view kind, std::string_view key) {
    return Json{{kind, {{"arg", argument.begin().value()}, {key, spec.target.str()}}}};
  };
  switch (spec.kind) {
    case OutputSpec::Kind::UserOutput:
      return Json{{"user_output", {{"arg", argument}}}};
    case OutputSpec::Kind::BufferMutation:
      return mutation("buffer_mutation", "buffer_name");
    case OutputSpec::Kind::ParameterMutation:
      return mutation("parameter_mutation", "parameter_name");
    case OutputSpec::Kind::UserInputMutation:
      return mutation("user_input_mutation", "user_input_name");
    case OutputSpec::Kind::Token:
      break;
  }
  return failure("write_pt2", "outputs", "tokens cannot be written");
}

Json leaves(std::size_t count) {
  const Json leaf = {{"type", nullptr}, {"context", nullptr}, {"children_spec", Json::array()}};
  return {{"type", "builtins.tuple"}, {"context", "null"}, {"children_spec", Json(count, leaf)}};
}

// Describes how arguments and results nest; a flat tuple for each if the program does not say.
Json module_call(const Method& method, const Json& inputs, const Json& outputs, bool is_flat) {
  const Json no_kwargs = {{"type", "builtins.dict"}, {"context", "[]"}, {"children_spec", Json::array()}};
  const Json both = {{"type", "builtins.tuple"},
                     {"context", "null"},
                     {"children_spec", Json::array({leaves(inputs.size()), no_kwargs})}};
  const std::string in_spec =
      is_flat || method.in_spec.empty() ? Json::array({1, both}).dump() : method.in_spec;
  const std::string out_spec =
      is_flat || method.out_spec.empty() ? Json::array({1, leaves(outputs.size())}).dump() : method.out_spec;
  return {{"fqn", ""},
          {"signature",
           {{"inputs", inputs},
            {"outputs", outputs},
            {"in_spec", in_spec},
            {"out_spec", out_spec},
            {"forward_arg_names", nullptr}}}};
}

}  // namespace

std::string pt2_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string pt2_call_name(const Node& node) {
  std::string name(node.display_name());
  if (!node.results().empty()) name = python_name(name);
  const bool is_list =
      node.def() != nullptr && !node.def()->returns.empty() && node.def()->returns[0].is_list;
  if (node.results().size() == 1 && !is_list && !has_bodies(node) && !is_delegate_call(node)) return name;
  do name += "_call";
  while (node.graph().has_name(Name::scoped(name)));
  return name;
}

Json pt2_tensor_meta(const TensorType& type, std::int64_t offset) {
  const Ranges none;
  Pt2Sizes sizes(none);
  return tensor_meta(type, offset, sizes);
}

Result<Json> pt2_program(const Program& program, const Method& method, const Pt2Options& options) {
  Pt2Sizes sizes(program.ranges, options.is_exir);
  Pt2GraphWriter writer(sizes, options);
  TRY(Json graph, writer.write(*method.graph, method.inputs));
  Json signature = {{"input_specs", Json::array()}, {"output_specs", Json::array()}};
  Json user_inputs = Json::array();
  Json user_outputs = Json::array();
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    const Json& argument = writer.inputs()[i];
    TRY(Json spec, input_spec_json(method.inputs[i], *method.graph->inputs()[i], argument));
    signature["input_specs"].push_back(std::move(spec));
    if (method.inputs[i].kind == InputSpec::Kind::UserInput) user_inputs.push_back(argument);
  }
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    const Json& argument = writer.outputs()[i];
    TRY(Json spec, output_spec_json(method.outputs[i], argument));
    signature["output_specs"].push_back(std::move(spec));
    if (method.outputs[i].kind == OutputSpec::Kind::UserOutput) user_outputs.push_back(argument);
  }
  Json calls = Json::array({module_call(method, user_inputs, user_outputs, options.is_flat)});
  return Json{{"graph_module",
               {{"graph", std::move(graph)},
                {"signature", std::move(signature)},
                {"module_call_graph", std::move(calls)},
                {"metadata", Json::object()},
                {"treespec_namedtuple_fields", Json::object()}}},
              {"opset_version", {{"aten", aten_opset}}},
              {"range_constraints", sizes.ranges()},
              {"schema_version", {{"major", schema_major}, {"minor", schema_minor}}},
              {"verifiers", Json::array({"TRAINING"})},
              {"torch_version", "<=2.4"},
              {"guards_code", Json::array()}};
}

Result<std::string> torch_schema(const Program& program, const Method& method,
                                 const TorchSchemaOptions& options) {
  const NameScope::Use use(names_of(program));
  TRY(const Json told, pt2_program(program, method, {options}));
  return pt2_text(told);
}

std::map<std::string, std::int64_t, std::less<>> example_sizes(const Program& program, const Method& method) {
  const NameScope::Use use(names_of(program));
  Pt2Sizes sizes(program.ranges);
  for (const Value* input : method.graph->inputs()) {
    const Type& type = input->type();
    for (const SymInt& size : type.tensor.sizes) sizes.size(size);
    if (type.expr != nullptr) sizes.expression(type.expr);
  }
  return sizes.hints();
}

}  // namespace depute
