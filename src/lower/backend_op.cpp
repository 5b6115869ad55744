#include "lower/backend_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "ir/copy.h"
#include "ir/text.h"
#include "lower/lowering_error.h"
#include "ops/builder.h"
#include "ops/op_def.h"
#include "partition/find_matches.h"

namespace depute {
namespace {

std::unexpected<Diagnostic> bad_op(std::string_view name, std::string_view message,
                                   std::string_view hint = {}) {
  return lowering_error(LoweringFault::BadBackendOp, {.value = fmt::format("backend op '{}'", name)}, message,
                        hint);
}

// All that is registered; grows only.
class Dialect {
 public:
  std::vector<std::string> libraries() {
    std::lock_guard lock(mutex_);
    return libraries_;
  }
  void add_library(std::string_view library) {
    std::lock_guard lock(mutex_);
    if (std::ranges::find(libraries_, library) == libraries_.end()) libraries_.emplace_back(library);
  }
  const BackendOp* find(Symbol name) {
    std::lock_guard lock(mutex_);
    auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  // The op table is asked first: it says whether the name is free.
  bool add(BackendOp op, OpDef def) {
    std::lock_guard lock(mutex_);
    Symbol name = op.name;
    if (by_name_.contains(name) || !add_op(std::move(def))) return false;
    by_name_.emplace(name, &ops_.emplace_back(std::move(op)));
    return true;
  }
  std::vector<std::string> names_in(std::string_view packet) {
    std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const BackendOp& op : ops_) {
      if (op.name.str().substr(0, op.name.str().rfind('.')) == packet) names.emplace_back(op.name.str());
    }
    return names;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> libraries_ = {"executorch_prim", "quantized_decomposed", "DO_NOT_USE_TEST_ONLY"};
  std::deque<BackendOp> ops_;
  std::unordered_map<Symbol, const BackendOp*> by_name_;
};

Dialect& dialect() {
  static auto* instance = new Dialect;  // never destroyed, like the op table
  return *instance;
}

// Whether the call fits its op, tried on a node of its own: rules that give types rely on it.
Status check_arguments(Symbol op, std::span<const Argument> args) {
  Graph scratch;
  auto map_value = [&](Value* value) {
    return Argument::of(scratch.add_input(value->name(), value->type()));
  };
  std::vector<Argument> copies;
  for (const Argument& argument : args) copies.push_back(scratch.import(argument, map_value));
  return check_call(*scratch.add(op, copies, {}, {}));
}

// The pattern's nodes on these inputs; the values it returns.
Replacement build_pattern(Builder& b, const Method& pattern, std::span<const Argument> inputs) {
  std::unordered_map<const Value*, Argument> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[pattern.graph->inputs()[i]] = inputs[i];
  auto map_value = [&](Value* value) { return values.at(value); };
  for (const Node& node : pattern.graph->nodes()) {
    OpCall call(node);
    std::vector<Argument> args;
    for (const Argument& argument : call.args()) args.push_back(b.graph().import(argument, map_value));
    TRY_STATUS(check_arguments(node.op(), args));
    std::vector<Value*> results = b.call_all(node.op().str(), std::span<const Argument>(args));
    if (b.failed()) return std::unexpected(b.status().error());
    for (std::size_t i = 0; i < node.results().size(); ++i)
      values[node.result(i)] = Argument::of(results.at(i));
  }
  std::vector<Value*> outputs;
  for (const Argument& output : pattern.graph->outputs())
    outputs.push_back(values.at(output.as_value()).as_value());
  return outputs;
}

Replacement expand(Builder& b, const OpCall& call) {
  return build_pattern(b, find_backend_op(call.def().name)->pattern.method(), call.args());
}

Result<std::vector<Type>> infer(const OpCall& call) {
  Graph scratch;
  std::vector<Argument> inputs;
  for (const Argument& argument : call.args())
    inputs.push_back(Argument::of(scratch.add_input(Symbol("x"), argument.as_value()->type())));
  Builder builder(scratch);
  TRY(std::vector<Value*> results,
      build_pattern(builder, find_backend_op(call.def().name)->pattern.method(), inputs));
  std::vector<Type> types;
  for (const Value* result : results) types.push_back(result->type());
  return types;
}

// An argument that one call can be made from: no match.any, no match.rest.
bool is_spelled_out(const Argument& argument) {
  if (argument.kind == Argument::Kind::Operator) return false;
  if (argument.is_list()) return std::ranges::all_of(argument.as_list(), is_spelled_out);
  return true;
}

Status check_pattern(std::string_view name, const Method& pattern) {
  for (const Value* input : pattern.graph->inputs()) {
    if (!input->has_uses())
      return bad_op(name, fmt::format("its pattern does not use %{}", input->name().str()));
  }
  for (const Node& node : pattern.graph->nodes()) {
    const OpDef* def = op_def(node);
    if (def == nullptr || def->infer == nullptr) {
      return bad_op(name, fmt::format("its pattern uses {}, whose types are not known", node.op().str()),
                    "write the pattern in Core ATen ops");
    }
    bool fits = node.args().size() <= def->args.size() &&
                std::ranges::all_of(node.kwargs(), [&](const NamedArgument& named) {
                  return def->arg_index(named.name) >= 0;
                });
    if (!fits)
      return bad_op(name,
                    fmt::format("its pattern calls {} with other arguments than it has", node.op().str()));
    for (const Argument& argument : node.args()) {
      if (!is_spelled_out(argument)) {
        return bad_op(name, fmt::format("its pattern leaves arguments of {} open", node.op().str()),
                      "a pattern that an op stands for spells out every argument");
      }
    }
  }
  for (const Argument& output : pattern.graph->outputs()) {
    bool is_computed = output.is_value() && output.as_value()->producer() != nullptr;
    if (!is_computed) return bad_op(name, "its pattern returns something that it does not compute");
  }
  return {};
}

OpDef make_def(const BackendOp& op) {
  OpDef def;
  def.name = op.name;
  def.schema = op.schema;
  for (const Value* input : op.pattern.method().graph->inputs()) def.args.push_back({.name = input->name()});
  def.returns.resize(op.pattern.method().graph->outputs().size());
  def.infer = infer;
  def.decompose = expand;
  def.out_name = op.spec.kernel;
  return def;
}

std::string make_schema(Symbol name, const Method& pattern) {
  std::string args;
  for (const Value* input : pattern.graph->inputs())
    args += fmt::format("{}Tensor {}", args.empty() ? "" : ", ", input->name().str());
  std::string results = "Tensor";
  for (std::size_t i = 1; i < pattern.graph->outputs().size(); ++i) results += ", Tensor";
  if (pattern.graph->outputs().size() != 1) results = fmt::format("({})", results);
  return fmt::format("{}({}) -> {}", name.str(), args, results);
}

Status check_name(std::string_view name) {
  auto dots = std::ranges::count(name, '.');
  std::string_view library = name.substr(0, name.find('.'));
  if (dots != 2 || name.starts_with('.') || name.ends_with('.') || name.find("..") != name.npos)
    return bad_op(name, "its name is not library.op.overload");
  std::vector<std::string> known = backend_libraries();
  if (std::ranges::find(known, library) == known.end()) {
    return bad_op(name, fmt::format("there is no library '{}'", library),
                  "add_backend_library() makes one; there are executorch_prim, quantized_decomposed and "
                  "DO_NOT_USE_TEST_ONLY");
  }
  return {};
}

// Where the nodes of a match come from, in the pattern's order; empty when that is one place.
std::span<const NodeOrigin> origins_of(Graph& graph, const PatternMatch& match) {
  std::vector<NodeOrigin> origins;
  for (const Node* node : match.nodes)
    for_each_origin(*node, [&](const NodeOrigin& origin) { origins.push_back(origin); });
  return origins.size() < 2 ? std::span<const NodeOrigin>() : graph.add_origins(origins);
}

// Puts one op in the place of one match; false when no place in the order of nodes serves it.
bool replace(Graph& graph, const BackendOp& op, const PatternMatch& match) {
  Node* last = nullptr;
  for (const Node* node : match.nodes) {
    if (last == nullptr || node->scratch > last->scratch) last = const_cast<Node*>(node);
  }
  std::vector<Value*> old;
  std::vector<ResultSpec> results;
  std::unordered_map<const Node*, std::size_t> position;
  for (std::size_t i = 0; i < match.nodes.size(); ++i) position[op.pattern.nodes()[i].node] = i;
  for (const Argument& output : op.pattern.method().graph->outputs()) {
    const Value& value = *output.as_value();
    old.push_back(match.nodes[position.at(value.producer())]->result(value.index()));
    results.push_back({old.back()->name(), old.back()->type()});
    for (const Use& use : old.back()->uses()) {
      bool is_matched = std::ranges::find(match.nodes, use.user) != match.nodes.end();
      if (!is_matched && use.user->scratch < last->scratch) return false;
    }
  }
  std::vector<Argument> args;
  for (const Value* input : match.inputs) {
    if (!input->type().is_tensor()) return false;
    args.push_back(Argument::of(const_cast<Value*>(input)));
  }
  Node* node = graph.add(op.name, args, {}, results, last->next());
  node->scratch = last->scratch;
  node->debug_handle = last->debug_handle;
  node->source = last->source;
  node->replaced = origins_of(graph, match);
  node->tag = last->tag;
  for (std::size_t i = 0; i < old.size(); ++i) graph.replace_uses(*old[i], node->result(i));
  std::vector<const Node*> dead = match.nodes;
  std::ranges::sort(dead, std::greater(), &Node::scratch);
  for (const Node* matched : dead) graph.erase(const_cast<Node&>(*matched));
  return true;
}

// What an op stood for, from `first` up to the op, gets back where each node comes from. Where there are more
// or fewer nodes than the op replaced, each keeps what it has from the op: all of it.
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

std::vector<std::string> backend_libraries() {
  return dialect().libraries();
}

Status add_backend_library(std::string_view library) {
  bool is_word = !library.empty() &&
                 std::ranges::all_of(library, [](char c) { return text::is_letter(c) || text::is_digit(c); });
  if (!is_word) {
    return lowering_error(LoweringFault::BadBackendOp, {.value = fmt::format("library '{}'", library)},
                          "a library is named by letters, digits and '_'");
  }
  dialect().add_library(library);
  return {};
}

Status register_backend_op(const BackendOpSpec& spec) {
  TRY_STATUS(check_name(spec.name));
  if (const BackendOp* known = find_backend_op(Symbol(spec.name)); known != nullptr && known->spec == spec)
    return {};
  TRY(std::vector<Pattern> patterns, parse_patterns(spec.pattern, spec.name));
  if (patterns.size() != 1) return bad_op(spec.name, fmt::format("it has {} patterns", patterns.size()));
  TRY_STATUS(check_pattern(spec.name, patterns.front().method()));
  Symbol name(spec.name);
  BackendOp op{.name = name,
               .spec = spec,
               .schema = make_schema(name, patterns.front().method()),
               .pattern = std::move(patterns.front())};
  OpDef def = make_def(op);
  if (!dialect().add(std::move(op), std::move(def)))
    return bad_op(spec.name, "there is an op of this name already");
  return {};
}

const BackendOp* find_backend_op(Symbol name) {
  return dialect().find(name);
}

std::vector<std::string> backend_op_packet(std::string_view packet) {
  std::vector<std::string> names;
  for (const OpDef* def : all_ops()) {
    std::string_view name = def->name.str();
    if (name.substr(0, name.rfind('.')) == packet) names.emplace_back(name);
  }
  for (std::string& name : dialect().names_in(packet)) names.push_back(std::move(name));
  return names;
}

Result<std::size_t> bind_backend_ops(Program& program, std::span<const Symbol> names) {
  std::vector<const BackendOp*> ops;
  std::vector<Pattern> patterns;
  for (Symbol name : names) {
    const BackendOp* op = find_backend_op(name);
    if (op == nullptr) return bad_op(name.str(), "there is no such op");
    ops.push_back(op);
    patterns.push_back(op->pattern);
  }
  std::size_t count = 0;
  for (const auto& method : program.methods) {
    for (const Graph* graph : graphs_below(*method->graph)) {
      std::vector<PatternMatch> matches = find_matches(*method, *graph, patterns);
      graph->number_nodes();
      for (const PatternMatch& match : matches)
        count += replace(const_cast<Graph&>(*graph), *ops[match.pattern], match) ? 1 : 0;
    }
  }
  return count;
}

Result<std::size_t> expand_backend_ops(Program& program, BackendOpsToExpand which) {
  std::size_t count = 0;
  for (const auto& method : program.methods) {
    for (const Graph* const_graph : graphs_below(*method->graph)) {
      Graph& graph = const_cast<Graph&>(*const_graph);
      SizeValues sizes(graph);
      for (Node& node : graph.nodes()) {
        const OpDef* def = op_def(node);
        if (def == nullptr || def->origin != OpOrigin::Backend) continue;
        if (which == BackendOpsToExpand::WithoutKernel && !def->out_name.empty()) continue;
        TRY_STATUS(check_call(node));
        Builder builder(graph, &node, &sizes);
        builder.inherit(node);
        const Node* before = node.previous();
        TRY(std::vector<Value*> values, def->decompose(builder, OpCall(node)));
        restore_origins(node, before == nullptr ? graph.first() : before->next());
        for (std::size_t i = 0; i < node.results().size(); ++i)
          graph.replace_uses(*node.result(i), values[i]);
        graph.erase(node);
        ++count;
      }
    }
  }
  return count;
}

}  // namespace depute
