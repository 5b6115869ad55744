#include "read/pt2/pt2_graph.h"

#include <fmt/format.h>

#include "depute/program/op.h"
#include "ops/own_ops.h"
#include "read/pt2/correct_sizes.h"
#include "read/pt2/pt2_argument.h"
#include "read/pt2/pt2_source.h"
#include "read/quote.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view subclass_access = "export.access_subclass_inner_tensor.default";

// Returns the type of a bare constant input.
Type type_of_literal(const Argument& literal) {
  switch (literal.kind) {
    case Argument::Kind::Int:
      return {.kind = Type::Kind::Int};
    case Argument::Kind::Float:
      return {.kind = Type::Kind::Float};
    case Argument::Kind::Bool:
      return {.kind = Type::Kind::Bool};
    case Argument::Kind::String:
      return {.kind = Type::Kind::String};
    default:
      return {.kind = Type::Kind::None};
  }
}

Result<std::string_view> text_field(const Json& json, std::string_view key) {
  TRY(Json field, json.field(key));
  return field.string();
}

// Decides whether an argument is passed by name: files of old torch versions do not say, so the op's schema
// decides.
bool is_keyword_by_schema(const OpDef* def, std::string_view name, std::size_t position) {
  if (name.empty()) return false;
  if (def == nullptr) return true;  // passing by name is always correct
  int index = def->arg_index(Name::scoped(name));
  return index != static_cast<int>(position) || def->args[position].keyword_only;
}

}  // namespace

Status GraphReader::index_types(const Json& graph) {
  TRY_STATUS(index_table(graph, "tensor_values", tensors_));
  bindings_.reserve(tensors_.members.size());
  TRY_STATUS(index_table(graph, "sym_int_values", sym_ints_));
  TRY_STATUS(index_table(graph, "sym_float_values", sym_floats_));
  TRY_STATUS(index_table(graph, "sym_bool_values", sym_bools_));
  return index_table(graph, "custom_obj_values", custom_objs_);
}

Status GraphReader::index_table(const Json& graph, std::string_view key, TypeTable& table) {
  TRY(Json json, graph.optional_field(key));
  table.json.emplace(json);
  if (json.is_null()) return {};
  TRY(std::size_t count, json.member_count());
  table.members.reserve(count);
  return table.json->for_each_member([&](std::string_view name, const Json& type) -> Status {
    if (!table.members.emplace(name, type).second) return type.fault("a second type for this value");
    return {};
  });
}

// --- names

Result<Value*> GraphReader::value(const Json& name) const {
  TRY(std::string_view text, name.string());
  auto found = bindings_.find(text);
  if (found == bindings_.end()) return name.fault(fmt::format("unknown value {}", quote(text)));
  const Binding& binding = found->second;
  if (binding.subclass) {
    return name.fault(fmt::format("{} is a weight of the tensor subclass {}; only its parts can be used",
                                  quote(text), quote(binding.subclass->class_name)),
                      "unwrap the weight with torchao's unwrap_tensor_subclass, or call "
                      "exported_program.run_decompositions() before saving");
  }
  return binding.value;
}

// Reserves the name of a value to be created.
Result<std::string_view> GraphReader::reserve(const Json& name) {
  TRY(std::string_view text, name.string());
  if (text.empty()) return name.fault("a value without a name");
  if (!bindings_.try_emplace(text).second)
    return name.fault(fmt::format("value {} is defined twice", quote(text)));
  return text;
}

Result<Type> GraphReader::type_of(std::string_view kind, const Json& name) const {
  TRY(std::string_view text, name.string());
  const TypeTable* table = &tensors_;
  Type::Kind symbolic = Type::Kind::SymInt;
  if (kind == "as_sym_int") table = &sym_ints_;
  if (kind == "as_sym_float") {
    table = &sym_floats_;
    symbolic = Type::Kind::SymFloat;
  }
  if (kind == "as_sym_bool") {
    table = &sym_bools_;
    symbolic = Type::Kind::SymBool;
  }
  auto found = table->members.find(text);
  if (found == table->members.end()) return name.fault(fmt::format("no type for value {}", quote(text)));
  if (table == &tensors_) {
    TRY(TensorType type,
        read_tensor_type(found->second, [&](const Json& size) { return scope_.symbols.size(size); }));
    return tensor_type(std::move(type));
  }
  TRY(const SymExpr* expr, scope_.symbols.expression(found->second));
  return sym_type(symbolic, expr);
}

// --- definitions: graph inputs and node results

Status GraphReader::read_definitions(const Json& argument, std::vector<Definition>& definitions) {
  TRY(auto choice, argument.choice());
  const auto& [kind, json] = choice;
  if (kind == "as_tensors") {
    return json.for_each(
        [&](const Json& element) { return read_definition("as_tensor", element, definitions); });
  }
  if (kind == "as_optional_tensors") {
    return json.for_each([&](const Json& element) { return read_definitions(element, definitions); });
  }
  for (std::string_view list : {"as_sym_ints", "as_sym_floats", "as_sym_bools"}) {
    if (kind != list) continue;
    std::string_view one = list.substr(0, list.size() - 1);
    return json.for_each([&](const Json& element) { return read_definition(one, element, definitions); });
  }
  return read_definition(kind, json, definitions);
}

Status GraphReader::read_definition(std::string_view kind, const Json& json,
                                    std::vector<Definition>& definitions) {
  if (kind == "as_none") {
    definitions.push_back({});
    return {};
  }
  bool is_symbolic = kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool";
  if (!is_symbolic && kind != "as_tensor" && kind != "as_custom_obj") {
    return json.fault(fmt::format("{} cannot be a graph input or a node's result", quote(kind)));
  }
  TRY(Json name, json.field(is_symbolic ? "as_name" : "name"));
  TRY(std::string_view text, reserve(name));
  if (kind == "as_custom_obj") {
    TRY(std::string_view class_name, text_field(json, "class_fqn"));
    definitions.push_back({text, {.kind = Type::Kind::CustomObj, .class_name = Name::scoped(class_name)}});
    return {};
  }
  TRY(Type type, type_of(kind, name));
  definitions.push_back({text, std::move(type)});
  return {};
}

Result<Value*> GraphReader::read_input(const Json& argument, std::string_view constant_name) {
  TRY(std::optional<Argument> literal, read_literal(argument));
  if (literal) {
    std::string name =
        constant_name.empty() ? fmt::format("arg{}", graph_.inputs().size()) : std::string(constant_name);
    return graph_.add_input(Name::scoped(name), type_of_literal(*literal));
  }
  std::vector<Definition> definitions;
  TRY_STATUS(read_definitions(argument, definitions));
  if (definitions.size() != 1) return argument.fault("a graph input must be one value");
  Value* value = graph_.add_input(Name::scoped(definitions[0].name), std::move(definitions[0].type));
  bindings_[definitions[0].name].value = value;
  return value;
}

Status GraphReader::define_subclass(const Json& argument, std::shared_ptr<const SubclassValue> subclass) {
  TRY(auto choice, argument.choice());
  if (choice.first != "as_tensor") return argument.fault("a weight that is not a tensor");
  TRY(Json name, choice.second.field("name"));
  TRY(std::string_view text, reserve(name));
  bindings_[text].subclass = std::move(subclass);
  return {};
}

Status GraphReader::read_inputs(const Json& graph) {
  TRY(Json inputs, graph.field("inputs"));
  return inputs.for_each([&](const Json& input) -> Status {
    TRY([[maybe_unused]] Value * value, read_input(input, ""));
    return {};
  });
}

Status GraphReader::read_outputs(const Json& graph) {
  TRY(Json outputs, graph.field("outputs"));
  std::vector<Argument> values;
  TRY_STATUS(outputs.for_each([&](const Json& output) -> Status {
    TRY(Argument value, read_argument(*this, output));
    values.push_back(value);
    return {};
  }));
  graph_.set_outputs(values);
  return {};
}

// --- nodes

Status GraphReader::read_nodes(const Json& graph) {
  TRY(Json nodes, graph.field("nodes"));
  return nodes.for_each([&](const Json& node) { return read_node(node); });
}

Status GraphReader::read_node(const Json& json) {
  if (scope_.counters.nodes >= json.limits().nodes) {
    return beyond(json.limits(), &ReadLimits::nodes, json.fault("too many nodes"));
  }
  TRY(std::string_view target, text_field(json, "target"));
  if (op_of_target(target).str() == subclass_access) return read_subclass_access(json);
  std::uint32_t handle = ++scope_.counters.nodes;
  TRY(Json metadata, json.optional_field("metadata"));
  TRY(SourceLocation source, read_source(metadata));
  auto call = read_call(json);
  if (!call) {
    if (call.error().source.empty()) call.error().source = source.str();
    return Failure(std::move(call).error());
  }
  Node* node = graph_.add(call->op, call->args, call->kwargs, result_specs(json, *call));
  node->debug_handle = handle;
  node->source = graph_.add_source(source);
  for (std::size_t i = 0; i < call->results.size(); ++i) {
    if (!call->results[i].name.empty()) bindings_[call->results[i].name].value = node->result(i);
  }
  if (const auto wrong = sizes_.correct(*node)) {
    return json.fault(*wrong, "say in the model that the divisor is positive: torch._check(divisor > 0)");
  }
  return {};
}

Result<GraphReader::Call> GraphReader::read_call(const Json& json) {
  Call call;
  TRY(Json target_json, json.field("target"));
  TRY(std::string_view target, target_json.string());
  call.op = op_of_target(target);
  if (call.op.empty()) return target_json.fault("a node without an operator");
  if (const OpDef* def = graph_.ops().find(call.op); def != nullptr && def->origin == OpOrigin::Compiler)
    return target_json.fault(fmt::format("{} is an op that is internal to the compiler", quote(target)));
  TRY_STATUS(read_call_inputs(json, call));
  if (call.op.str() == torch_delegate_call) {
    TRY_STATUS(name_delegate(target_json, call));
  }
  TRY(Json outputs, json.field("outputs"));
  TRY_STATUS(outputs.for_each([&](const Json& output) { return read_definitions(output, call.results); }));
  return call;
}

Status GraphReader::read_call_inputs(const Json& json, Call& call) {
  TRY(Json inputs, json.field("inputs"));
  return inputs.for_each([&](const Json& input) { return read_named_argument(input, call); });
}

// Resolves a delegate. torch writes only names of delegates, so only programs in memory have their content.
Status GraphReader::name_delegate(const Json& target, Call& call) const {
  const bool is_named = !call.args.empty() && call.args[0].kind == Argument::Kind::String;
  if (!is_named || scope_.program.find_delegate(call.args[0].as_symbol()) == nullptr) {
    return target.fault("it calls a delegate whose content is not in the file",
                        "lower the program while it is in memory: depute.from_torch(exported_program)");
  }
  call.op = delegate_call_symbol();
  call.args[0] = Argument::text(Argument::Kind::Delegate, call.args[0].as_symbol());
  return {};
}

// Reads {"name": "self", "arg": <argument>, "kind": 1 by position, 2 by name}.
Status GraphReader::read_named_argument(const Json& json, Call& call) {
  constexpr std::int64_t by_position = 1;
  constexpr std::int64_t by_name = 2;
  TRY(std::string_view name, text_field(json, "name"));
  TRY(Json argument_json, json.field("arg"));
  TRY(Json kind_json, json.optional_field("kind"));
  bool is_keyword = false;
  if (kind_json.is_null()) {
    is_keyword = is_keyword_by_schema(graph_.ops().find(call.op), name, call.args.size());
  } else {
    TRY(std::int64_t kind, kind_json.integer());
    if (kind != by_position && kind != by_name)
      return kind_json.fault("the kind of an argument must be 1 (positional) or 2 (keyword)");
    is_keyword = kind == by_name;
  }
  TRY(Argument argument, read_argument(*this, argument_json));
  if (!is_keyword) {
    call.args.push_back(argument);
    return {};
  }
  if (name.empty()) return json.fault("an argument by name without a name");
  call.kwargs.push_back({Name::scoped(name), argument});
  return {};
}

// Returns names and types of the results. Unnamed results are Nones; they get a name derived from the node.
std::vector<ResultSpec> GraphReader::result_specs(const Json& json, const Call& call) const {
  std::string node_name(call.op.str());
  if (auto name = text_field(json, "name")) node_name = *name;
  std::vector<ResultSpec> specs;
  for (const Definition& definition : call.results) {
    Name name = Name::scoped(definition.name);
    if (name.empty()) name = Name::scoped(fmt::format("{}_none_{}", node_name, specs.size()));
    specs.push_back({name, definition.type});
  }
  return specs;
}

// Reads a node that accesses a part of a subclass weight. The part is a graph input already; the node's
// result is bound to it.
Status GraphReader::read_subclass_access(const Json& json) {
  TRY(Json inputs, json.field("inputs"));
  TRY(Binding part, read_part(inputs));
  std::vector<Definition> definitions;
  TRY(Json outputs, json.field("outputs"));
  TRY_STATUS(outputs.for_each([&](const Json& output) { return read_definitions(output, definitions); }));
  if (definitions.size() != 1 || definitions[0].name.empty()) return outputs.fault("expected one tensor");
  bindings_[definitions[0].name] = std::move(part);
  return {};
}

// Reads [the weight, the part's name].
Result<GraphReader::Binding> GraphReader::read_part(const Json& inputs) const {
  std::string_view weight_name;
  std::string_view part_name;
  TRY_STATUS(inputs.for_each([&](const Json& input) -> Status {
    TRY(Json argument, input.field("arg"));
    TRY(auto choice, argument.choice());
    if (choice.first == "as_string") {
      TRY(part_name, choice.second.string());
    } else {
      TRY(weight_name, text_field(choice.second, "name"));
    }
    return {};
  }));
  auto weight = bindings_.find(weight_name);
  if (weight == bindings_.end() || !weight->second.subclass) {
    return inputs.fault(
        fmt::format("{} is not a weight of a tensor subclass in this graph", quote(weight_name)));
  }
  const SubclassValue& subclass = *weight->second.subclass;
  if (auto value = subclass.values.find(part_name); value != subclass.values.end()) {
    return Binding{.value = value->second, .subclass = nullptr};
  }
  if (auto inner = subclass.subclasses.find(part_name); inner != subclass.subclasses.end()) {
    return Binding{.value = nullptr, .subclass = inner->second};
  }
  return inputs.fault(fmt::format("{}, of the tensor subclass {}, has no part {} that can be read",
                                  quote(weight_name), quote(subclass.class_name), quote(part_name)));
}

Result<Graph*> GraphReader::read_body(const Json& json) {
  if (depth_ >= json.limits().graph_depth) {
    return beyond(json.limits(), &ReadLimits::graph_depth, json.fault("control flow is nested too deeply"));
  }
  TRY(std::string_view wanted, text_field(json, "name"));
  TRY(Json graph_json, json.field("graph"));
  std::string name(wanted.empty() ? "body" : wanted);
  for (int i = 1; !scope_.counters.graph_names.insert(name).second; ++i)
    name = fmt::format("{}_{}", wanted, i);
  scope_.method.bodies.push_back(std::make_unique<Graph>(Name::scoped(name), graph_.ops()));
  Graph* body = scope_.method.bodies.back().get();
  GraphReader reader(scope_, *body, depth_ + 1);
  TRY_STATUS(reader.index_types(graph_json));
  TRY_STATUS(reader.read_inputs(graph_json));
  TRY_STATUS(reader.read_nodes(graph_json));
  TRY_STATUS(reader.read_outputs(graph_json));
  return body;
}

}  // namespace depute
