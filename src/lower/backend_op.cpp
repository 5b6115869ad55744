#include "depute/backend/backend_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "depute/backend/pattern.h"
#include "depute/program/builder.h"
#include "depute/program/op.h"
#include "depute/program/program.h"
#include "depute/program/walk.h"
#include "ir/node_order.h"
#include "ir/program_names.h"
#include "ir/text/text.h"
#include "lower/lowering_error.h"
#include "ops/contents.h"
#include "ops/control/size_values.h"
#include "ops/schema.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

Failure bad_op(std::string_view name, std::string_view message, std::string_view hint = {}) {
  return lowering_error(LoweringFault::BadBackendOp, {.value = fmt::format("backend op '{}'", name)}, message,
                        hint);
}

// Builds the nodes of `pattern`, with `inputs` in place of its inputs. Returns the pattern's outputs.
Replacement build_pattern(Builder& b, const Method& pattern, std::span<const Argument> inputs) {
  std::unordered_map<const Value*, Argument> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[pattern.graph->inputs()[i]] = inputs[i];
  auto map_value = [&](const Value* value) { return values.at(value); };
  for (const Node& node : pattern.graph->nodes()) {
    OpCall call(node);
    std::vector<Argument> args;
    for (const Argument& argument : call.args()) args.push_back(b.graph().import(argument, map_value));
    std::vector<Value*> results = b.call_all(node.op().str(), std::span<const Argument>(args));
    if (b.failed()) return Failure(b.status().error());
    for (std::size_t i = 0; i < node.results().size(); ++i)
      values[node.result(i)] = Argument::of(results.at(i));
  }
  std::vector<Value*> outputs;
  for (const Argument& output : pattern.graph->outputs())
    outputs.push_back(b.own(values.at(output.as_value()).as_value()));
  return outputs;
}

const BackendOp& op_of(const OpCall& call) {
  return *call.def().backend_op;
}

// The argument of the call for each input of the pattern.
std::vector<Argument> pattern_inputs(const OpCall& call) {
  std::vector<Argument> inputs;
  for (std::size_t source : op_of(call).sources) inputs.push_back(call[source]);
  return inputs;
}

std::string text_of(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::Int:
      return fmt::format("{}", argument.as_int());
    case Argument::Kind::Float:
      return fmt::format("{}", argument.as_double());
    case Argument::Kind::Bool:
      return argument.as_bool() ? "true" : "false";
    case Argument::Kind::String:
      return fmt::format("\"{}\"", argument.as_symbol().str());
    default:
      return "another value";
  }
}

// Numbers are equal by value, so that 1 equals 1.0.
bool is_same_value(const Argument& a, const Argument& b) {
  if (a.is_number() && b.is_number() && a.kind != b.kind) return a.as_double() == b.as_double();
  return same_argument(a, b);
}

// Fails if an argument that the pattern does not use differs from its default, which the pattern assumes.
Status check_other_arguments(const OpCall& call) {
  const BackendOp& op = op_of(call);
  for (std::size_t i = 0; i < call.args().size(); ++i) {
    const ArgDef& arg = call.def().args[i];
    if (std::ranges::find(op.sources, i) != op.sources.end()) continue;
    const Argument none = Argument::none();
    if (is_same_value(call[i], arg.default_value ? *arg.default_value : none)) continue;
    return lowering_error(
        LoweringFault::BackendOpLeft, {.node = call.node()},
        fmt::format("no backend delegated it, it has no kernel, and its pattern does not support "
                    "{}={}",
                    arg.name.str(), text_of(call[i])),
        "register it with a kernel, or delegate it to a backend");
  }
  return {};
}

Replacement expand(Builder& b, const OpCall& call) {
  TRY_STATUS(check_other_arguments(call));
  return build_pattern(b, op_of(call).pattern->method(), pattern_inputs(call));
}

Result<std::vector<Type>> infer_from_pattern(const OpCall& call) {
  Graph scratch({}, op_of(call).pattern->method().graph->ops());
  auto map_value = [&](const Value* value) {
    return Argument::of(scratch.add_input(Name("x"), value->type()));
  };
  std::vector<Argument> inputs;
  for (const Argument& argument : pattern_inputs(call)) inputs.push_back(scratch.import(argument, map_value));
  Builder builder(scratch);
  TRY(std::vector<Value*> results, build_pattern(builder, op_of(call).pattern->method(), inputs));
  std::vector<Type> types;
  for (const Value* result : results) types.push_back(result->type());
  return types;
}

// Infers types with the backend's own rule and checks them against the schema.
Result<std::vector<Type>> infer_by_rule(const OpCall& call) {
  const BackendOp& op = op_of(call);
  TRY(std::vector<Type> types, op.spec.infer(call));
  bool are_tensors = std::ranges::all_of(types, [](const Type& type) { return type.is_tensor(); });
  if (types.size() != call.def().returns.size() || !are_tensors) {
    return bad_op(op.name.str(),
                  fmt::format("its rule returns {} types{}, but its schema returns {} tensors", types.size(),
                              are_tensors ? "" : ", not all of them tensors", call.def().returns.size()));
  }
  return types;
}

// False if the argument contains a wildcard (match.any, match.rest).
bool is_spelled_out(const Argument& argument) {
  if (argument.kind == Argument::Kind::Operator) return false;
  if (argument.is_list()) return std::ranges::all_of(argument.as_list(), is_spelled_out);
  return true;
}

Status check_pattern(std::string_view name, const Method& pattern) {
  for (const Value* input : pattern.graph->inputs()) {
    if (!input->has_uses())
      return bad_op(name, fmt::format("its pattern does not use its input %{}", input->name().str()));
  }
  for (const Node& node : pattern.graph->nodes()) {
    const OpDef* def = node.def();
    if (def == nullptr || def->infer == nullptr) {
      return bad_op(name, fmt::format("its pattern uses {}, whose result types are unknown", node.op().str()),
                    "write the pattern in Core ATen ops");
    }
    bool fits = node.args().size() <= def->args.size() &&
                std::ranges::all_of(node.kwargs(), [&](const NamedArgument& named) {
                  return def->arg_index(named.name) >= 0;
                });
    if (!fits)
      return bad_op(name, fmt::format("its pattern calls {} with arguments that do not match its schema",
                                      node.op().str()));
    for (const Argument& argument : node.args()) {
      if (!is_spelled_out(argument)) {
        return bad_op(name,
                      fmt::format("its pattern has open arguments (match.any, match.rest) in a call of {}",
                                  node.op().str()),
                      "write every argument: the pattern of an op must be complete");
      }
    }
  }
  for (const Argument& output : pattern.graph->outputs()) {
    bool is_computed = output.is_value() && output.as_value()->producer() != nullptr;
    if (!is_computed) return bad_op(name, "its pattern returns a value that none of its nodes computes");
  }
  return {};
}

std::string_view schema_type(const Type& type) {
  switch (type.kind) {
    case Type::Kind::Int:
      return "int";
    case Type::Kind::Float:
      return "float";
    case Type::Kind::Bool:
      return "bool";
    case Type::Kind::String:
      return "str";
    default:
      return "Tensor";
  }
}

std::string make_schema(std::string_view name, const Method& pattern) {
  std::string args;
  for (const Value* input : pattern.graph->inputs())
    args += fmt::format("{}{} {}", args.empty() ? "" : ", ", schema_type(input->type()), input->name().str());
  std::string results = "Tensor";
  for (std::size_t i = 1; i < pattern.graph->outputs().size(); ++i) results += ", Tensor";
  if (pattern.graph->outputs().size() != 1) results = fmt::format("({})", results);
  return fmt::format("{}({}) -> {}", name, args, results);
}

bool is_argument_type(ArgType type) {
  switch (type) {
    case ArgType::Tensor:
    case ArgType::Int:
    case ArgType::Float:
    case ArgType::Bool:
    case ArgType::Scalar:
    case ArgType::String:
    case ArgType::ScalarType:
    case ArgType::MemoryFormat:
      return true;
    case ArgType::Layout:
    case ArgType::Device:
    case ArgType::Generator:
    case ArgType::Graph:
    case ArgType::Operator:
    case ArgType::Any:
      return false;
  }
  return false;
}

Status check_argument(std::string_view name, const OpDef& def, const ArgDef& arg) {
  auto fault = [&](std::string_view message) {
    return bad_op(name, fmt::format("in its schema, argument '{}' {}", arg.name.str(), message));
  };
  if (def.arg_index(arg.name) != &arg - def.args.data()) return fault("is declared twice");
  if (!is_argument_type(arg.type)) return fault("has a type that kernels do not support");
  if (arg.is_aliased)
    return fault("is aliased; an op of a backend must return new tensors or mutate arguments");
  if (arg.is_written && (arg.type != ArgType::Tensor || arg.is_list))
    return fault("is mutated, but is not a tensor");
  if (arg.default_value && !internal::fits(*arg.default_value, arg))
    return fault("has a default value of another type");
  return {};
}

// Fills `def` from the schema.
Status fill_def(const BackendOpSpec& spec, std::string_view schema, OpDef& def) {
  if (std::string fault = internal::read_schema(schema, def); !fault.empty()) {
    return bad_op(spec.name, fmt::format("its schema is invalid: {}", fault),
                  "write it like \"my.op.default(Tensor x, float scale=1.0, *, bool flag=False) -> Tensor\"");
  }
  if (def.name.str() != spec.name)
    return bad_op(spec.name, fmt::format("its schema has another name, '{}'", def.name.str()));
  for (const ArgDef& arg : def.args) TRY_STATUS(check_argument(spec.name, def, arg));
  bool are_tensors = std::ranges::all_of(
      def.returns, [](const ReturnDef& result) { return result.type == ArgType::Tensor && !result.is_list; });
  if (!are_tensors || (def.returns.empty() && !def.mutates()))
    return bad_op(spec.name, "its schema must return tensors only");
  const bool are_apart = std::ranges::all_of(aliased_results(schema), [](const AliasedResult& result) {
    return result.is_own || result.written.has_value();
  });
  if (!are_apart)
    return bad_op(spec.name, "its schema returns a view of an argument",
                  "return new tensors, or mutated arguments as \"-> Tensor(a!)\"");
  if (def.mutates() && !spec.pattern.empty())
    return bad_op(spec.name, "it mutates an argument; such an op cannot have a pattern");
  return {};
}

bool may_stand_for(const Value& input, const ArgDef& arg) {
  if (arg.is_list) return false;
  switch (input.type().kind) {
    case Type::Kind::Int:
      return arg.type == ArgType::Int || arg.type == ArgType::Scalar;
    case Type::Kind::Float:
      return arg.type == ArgType::Float || arg.type == ArgType::Scalar;
    case Type::Kind::Bool:
      return arg.type == ArgType::Bool || arg.type == ArgType::Scalar;
    case Type::Kind::String:
      return arg.type == ArgType::String;
    default:
      return arg.type == ArgType::Tensor;
  }
}

// Finds the argument for each input of the pattern. Other arguments must be optional or have a default.
Result<std::vector<std::size_t>> find_sources(const OpDef& def, const Method& pattern) {
  std::string_view name = def.name.str();
  std::vector<std::size_t> sources;
  for (const Value* input : pattern.graph->inputs()) {
    int index = def.arg_index(input->name());
    if (index < 0 || !may_stand_for(*input, def.args[static_cast<std::size_t>(index)])) {
      return bad_op(name, fmt::format("its schema has no argument for the pattern's input %{}: {}",
                                      input->name().str(), str(input->type())));
    }
    sources.push_back(static_cast<std::size_t>(index));
  }
  for (std::size_t i = 0; i < def.args.size(); ++i) {
    const ArgDef& arg = def.args[i];
    bool has_value = arg.default_value || arg.is_optional || std::ranges::find(sources, i) != sources.end();
    if (!has_value)
      return bad_op(name,
                    fmt::format("argument '{}' is not in its pattern and has no default", arg.name.str()));
  }
  if (pattern.graph->outputs().size() != def.returns.size()) {
    return bad_op(name, fmt::format("its pattern returns {} values, but its schema returns {}",
                                    pattern.graph->outputs().size(), def.returns.size()));
  }
  return sources;
}

Status check_name(std::string_view name, std::span<const std::string> known) {
  auto dots = std::ranges::count(name, '.');
  std::string_view library = name.substr(0, name.find('.'));
  if (dots != 2 || name.starts_with('.') || name.ends_with('.') || name.find("..") != name.npos)
    return bad_op(name, "its name must have the form library.op.overload");
  if (std::ranges::find(known, library) == known.end()) {
    return bad_op(name, fmt::format("unknown library '{}'", library),
                  "add it to BackendEntry::libraries; built in are executorch_prim, quantized_decomposed and "
                  "DO_NOT_USE_TEST_ONLY");
  }
  return {};
}

// Origins of the matched nodes, in the pattern's order. Empty if there are fewer than two.
std::span<const NodeOrigin> origins_of(Graph& graph, const PatternMatch& match) {
  std::vector<NodeOrigin> origins;
  for (const Node* node : match.nodes)
    for_each_origin(*node, [&](const NodeOrigin& origin) { origins.push_back(origin); });
  return origins.size() < 2 ? std::span<const NodeOrigin>() : graph.add_origins(origins);
}

// Maps results of replaced nodes to the new values. Later matches may still use the old results as inputs.
using ReplacedValues = std::unordered_map<const Value*, Value*>;

// Fills the op's arguments from the match, and the others from their defaults. Returns false if an input does
// not fit the schema.
bool fill_arguments(Graph& graph, const BackendOp& op, const PatternMatch& match,
                    const ReplacedValues& replaced, std::vector<Argument>& args,
                    std::vector<NamedArgument>& kwargs) {
  const OpDef& def = op.def;
  auto same_value = [&](const Value* value) { return Argument::of(graph.own(*value)); };
  for (std::size_t i = 0; i < def.args.size(); ++i) {
    const ArgDef& arg = def.args[i];
    auto source = static_cast<std::size_t>(std::ranges::find(op.sources, i) - op.sources.begin());
    Argument value = arg.default_value ? graph.import(*arg.default_value, same_value) : Argument::none();
    if (source < op.sources.size()) {
      const Value* input = match.inputs[source];
      if (auto now = replaced.find(input); now != replaced.end()) input = now->second;
      value = input != nullptr ? Argument::of(graph.own(*input)) : match.literals[source];
    }
    if (arg.type == ArgType::Float && value.is_int()) value = Argument::of(value.as_double());
    if (!internal::fits(value, arg)) return false;
    if (arg.keyword_only) {
      kwargs.push_back({arg.name, value});
    } else {
      args.push_back(value);
    }
  }
  return true;
}

// Replaces one match by one op. Returns false if no position in the node order is valid for it.
bool replace(Graph& graph, const BackendOp& op, const PatternMatch& match, NodeOrder& order,
             ReplacedValues& replaced) {
  std::vector<Node*> nodes;
  for (const Node* node : match.nodes) nodes.push_back(graph.own(*node));
  Node* last = *std::ranges::max_element(nodes, {}, [&](const Node* node) { return order[*node]; });
  std::vector<Value*> old;
  std::vector<ResultSpec> results;
  std::unordered_map<const Node*, std::size_t> position;
  for (std::size_t i = 0; i < match.nodes.size(); ++i) position[op.pattern->nodes()[i].node] = i;
  for (const Argument& output : op.pattern->method().graph->outputs()) {
    const Value& value = *output.as_value();
    old.push_back(nodes[position.at(value.producer())]->result(value.index()));
    results.push_back({old.back()->name(), old.back()->type()});
    for (const Use& use : old.back()->uses()) {
      bool is_matched = std::ranges::find(match.nodes, use.user()) != match.nodes.end();
      if (!is_matched && order[*use.user()] < order[*last]) return false;
    }
  }
  std::vector<Argument> args;
  std::vector<NamedArgument> kwargs;
  if (!fill_arguments(graph, op, match, replaced, args, kwargs)) return false;
  Node* node = graph.add(op.name, args, kwargs, results, last->next());
  order.put_at(*node, *last);
  node->debug_handle = last->debug_handle;
  node->source = last->source;
  node->replaced = origins_of(graph, match);
  node->tag = last->tag;
  for (std::size_t i = 0; i < old.size(); ++i) {
    graph.replace_uses(*old[i], node->result(i));
    replaced.emplace(old[i], node->result(i));
  }
  std::ranges::sort(nodes, std::greater(), [&](const Node* matched) { return order[*matched]; });
  for (Node* matched : nodes) graph.erase(*matched);
  return true;
}

// Gives the nodes from `first` up to `op` the origins of the nodes that `op` had replaced. If the two counts
// differ, each node keeps all origins of `op`.
void restore_origins(const Node& op, Node* first) {
  std::size_t count = 0;
  for (const Node* node = first; node != &op; node = node->next()) ++count;
  if (count != op.replaced.size()) return;
  for (const NodeOrigin& origin : op.replaced) {
    first->debug_handle = origin.debug_handle;
    first->source = origin.source;
    first->replaced = {};
    first = first->next();
  }
}

}  // namespace

Status BackendOps::add_library(std::string_view library) {
  bool is_word = !library.empty() &&
                 std::ranges::all_of(library, [](char c) { return text::is_letter(c) || text::is_digit(c); });
  if (!is_word) {
    return lowering_error(LoweringFault::BadBackendOp, {.value = fmt::format("library '{}'", library)},
                          "a library name must consist of letters, digits and '_'");
  }
  if (std::ranges::find(libraries_, library) == libraries_.end()) libraries_.emplace_back(library);
  return {};
}

namespace {

Result<std::optional<Pattern>> read_pattern(const BackendOpSpec& spec, const OpTable& ops) {
  if (spec.pattern.empty()) return std::nullopt;
  // A non-owning pointer: the pattern is stored in the table whose ops it names.
  const std::shared_ptr<const OpTable> alias(std::shared_ptr<const void>(), &ops);
  TRY(std::vector<Pattern> patterns, parse_patterns(spec.pattern, spec.name, alias));
  if (patterns.size() != 1)
    return bad_op(spec.name, fmt::format("expected one pattern, got {}", patterns.size()));
  TRY_STATUS(check_pattern(spec.name, patterns.front().method()));
  return std::move(patterns.front());
}

}  // namespace

void BackendOps::truncate(Extent extent) {
  for (std::size_t i = extent.ops; i < ops_.size(); ++i) by_name_.erase(ops_[i]->name);
  ops_.resize(extent.ops);
  libraries_.resize(extent.libraries);
}

Status BackendOps::add(const BackendOpSpec& spec) {
  TRY_STATUS(check_name(spec.name, libraries_));
  if (const BackendOp* known = find_backend_op(Name(spec.name)); known != nullptr && known->spec == spec)
    return {};
  const bool is_taken = find(Name(spec.name)) != nullptr || find(Name(functional_name(spec.name))) != nullptr;
  if (is_taken) return bad_op(spec.name, "an op with this name exists already");
  if (spec.pattern.empty() && spec.schema.empty())
    return bad_op(spec.name, "it has neither a pattern nor a schema");
  auto op = std::make_unique<BackendOp>();
  op->name = Name(spec.name);
  op->spec = spec;
  TRY(op->pattern, read_pattern(spec, *this));
  op->schema = spec.schema.empty() ? make_schema(spec.name, op->pattern->method()) : spec.schema;
  OpDef& def = op->def;
  TRY_STATUS(fill_def(spec, op->schema, def));
  if (op->pattern) {
    TRY(op->sources, find_sources(def, op->pattern->method()));
    def.decompose = expand;
    def.infer = infer_from_pattern;
  }
  if (spec.infer != nullptr) def.infer = infer_by_rule;
  def.origin = OpOrigin::Backend;
  def.backend_op = op.get();
  if (def.mutates()) {
    add_functional_form(*op);
  } else {
    def.out_name = spec.kernel;
  }
  keep(std::move(op));
  return {};
}

void BackendOps::keep(std::unique_ptr<BackendOp> op) {
  by_name_.emplace(op->name, op.get());
  ops_.push_back(std::move(op));
}

// Adds the functional form of an op that writes to its arguments. Normalized programs use this form; it has
// the op's kernel.
void BackendOps::add_functional_form(BackendOp& op) {
  auto form = std::make_unique<BackendOp>();
  form->schema = functional_schema(op.schema);
  OpDef& def = form->def;
  internal::parse_schema(form->schema, def);
  def.flags = OpFlag::MayAliasOperand;
  def.origin = OpOrigin::Backend;
  def.out_name = op.spec.kernel;
  def.backend_op = form.get();
  form->name = def.name;
  form->spec = {.name = std::string(def.name.str()), .kernel = op.spec.kernel, .schema = form->schema};
  op.def.functional = form->name;
  keep(std::move(form));
}

BackendOps::BackendOps() = default;
BackendOps::~BackendOps() = default;

const OpDef* BackendOps::find(Name op) const {
  if (const OpDef* def = torch_ops()->find(op); def != nullptr) return def;
  const BackendOp* own = find_backend_op(op);
  return own == nullptr ? nullptr : &own->def;
}

const BackendOp* BackendOps::find_backend_op(Name name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<std::string> BackendOps::packet(std::string_view packet) const {
  std::vector<std::string> names;
  auto add = [&](std::string_view name) {
    if (name.substr(0, name.rfind('.')) == packet) names.emplace_back(name);
  };
  for (const OpDef* def : all_ops()) add(def->name.str());
  for (const auto& op : ops_) add(op->name.str());
  return names;
}

namespace {

Result<std::size_t> bind(Program& program, const std::shared_ptr<const BackendOps>& table,
                         std::span<const Name> names) {
  std::vector<const BackendOp*> ops;
  std::vector<Pattern> patterns;
  for (Name name : names) {
    const BackendOp* op = table->find_backend_op(name);
    if (op == nullptr) return bad_op(name.str(), "unknown op");
    if (!op->pattern) continue;
    ops.push_back(op);
    patterns.push_back(*op->pattern);
  }
  if (program.ops != table) use_ops(program, table);
  std::size_t count = 0;
  for (auto& method : program.methods) {
    for (Graph* graph : graphs_of(*method)) {
      std::vector<PatternMatch> matches = find_matches(*method, *graph, patterns);
      NodeOrder order(*graph);
      ReplacedValues replaced;
      for (const PatternMatch& match : matches)
        count += replace(*graph, *ops[match.pattern], match, order, replaced) ? 1 : 0;
    }
  }
  return count;
}

// Replaces the node by the pattern. Returns the first new node: the pattern may contain backend ops, which
// are expanded in turn.
Result<Node*> expand(Graph& graph, Node& node, SizeValues& sizes) {
  TRY_STATUS(check_call(node));
  Builder builder(graph, &node, &sizes);
  builder.inherit(node);
  Node* before = node.previous();
  auto first = [&] { return before == nullptr ? graph.first() : before->next(); };
  TRY(std::vector<Value*> values, builder.run([&] { return node.def()->decompose(builder, OpCall(node)); }));
  restore_origins(node, first());
  for (std::size_t i = 0; i < node.results().size(); ++i) graph.replace_uses(*node.result(i), values[i]);
  graph.erase(node);
  return first();
}

Result<std::size_t> expand(Method& method, Graph& graph, const Ranges& ranges, BackendOpsToExpand which) {
  std::size_t count = 0;
  SizeValues sizes(graph, &ranges);
  for (Node* node = graph.first(); node != nullptr;) {
    const OpDef* def = node->def();
    const bool stays = def == nullptr || def->origin != OpOrigin::Backend ||
                       (which == BackendOpsToExpand::WithoutKernel && !def->out_name.empty()) ||
                       (which == BackendOpsToExpand::All && def->decompose == nullptr);
    if (stays) {
      node = node->next();
      continue;
    }
    if (def->decompose == nullptr) {
      return lowering_error(LoweringFault::BackendOpLeft, {.method = method.name.str(), .node = node},
                            "no backend delegated it, and it has neither a kernel nor a pattern",
                            "register it with a kernel, or delegate it to a backend");
    }
    TRY(node, expand(graph, *node, sizes));
    ++count;
  }
  return count;
}

Result<std::size_t> expand(Program& program, BackendOpsToExpand which) {
  std::size_t count = 0;
  for (auto& method : program.methods) {
    for (Graph* graph : graphs_of(*method)) {
      TRY(std::size_t expanded, expand(*method, *graph, program.ranges, which));
      count += expanded;
    }
  }
  return count;
}

}  // namespace

Result<std::size_t> bind_backend_ops(Program& program, const std::shared_ptr<const BackendOps>& ops,
                                     std::span<const Name> names) {
  return guarded([&] {
    const NameScope::Use use(names_to_edit(program));
    return bind(program, ops, names);
  });
}

Result<std::size_t> expand_backend_ops(Program& program, BackendOpsToExpand which) {
  return guarded([&] {
    const NameScope::Use use(names_to_edit(program));
    return expand(program, which);
  });
}

}  // namespace depute
