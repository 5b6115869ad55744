// Parses methods, graphs and nodes.
//
//   method    = "method" name "(" [input {"," input}] ")" "{" {statement} return "}"
//   statement = "in_spec" string | "out_spec" string | graph | store | "output" literal | node
//   graph     = "graph" "@" name "(" [value ":" type {"," value ":" type}] ")" "{" {node} return "}"
//   store     = "store" ("buffer" | "param" | "input" | "token") string "=" literal
//   return    = "return" [literal {"," literal}]
//   node      = [value ":" type {"," value ":" type} "="] op "(" [argument {"," argument}] ")"
//               ["!" name] ["#" int] ["from" source]
//               ["for" "#" int ["from" source] {"," "#" int ["from" source]}]
//   source    = string ":" int [string [string]]
#include <fmt/format.h>

#include "ir/text/parser.h"
#include "ir/text/spelling.h"
#include "support/try.h"

namespace depute::text {

Status Parser::method(ProgramScope& scope) {
  std::size_t start = in_.position();
  TRY(Name name, in_.name("the method's name"));
  if (!scope.methods.insert(name).second) {
    return in_.fault_at(start, fmt::format("method '{}' is defined twice", name.str()));
  }
  MethodScope method_scope{.method = &scope.program.add_method(name), .bodies = {}, .references = {}};
  GraphScope graph_scope{
      .graph = method_scope.method->graph.get(), .values = {}, .outputs = {}, .output_specs = {}};
  TRY_STATUS(inputs(&method_scope, graph_scope));
  TRY_STATUS(statements(method_scope, graph_scope));
  method_scope.method->outputs = std::move(graph_scope.output_specs);
  resolve_references(scope, method_scope);
  return {};
}

// Parses "{" statements "return" ... "}" and sets the graph's outputs.
Status Parser::statements(MethodScope& method, GraphScope& scope) {
  bool is_body = scope.graph != method.method->graph.get();
  TRY_STATUS(in_.expect('{'));
  while (!in_.accept_word("return")) {
    if (in_.at_end() || in_.peek() == '}') return in_.fault("expected 'return'");
    if (compact_ != nullptr && in_.accept_word("nodes")) {
      TRY_STATUS(compact_nodes(method, scope));
      continue;
    }
    bool taken = false;
    if (!is_body && in_.peek() != '%') {
      TRY(taken, method_statement(method, scope));
    }
    if (!taken) TRY_STATUS(node(method, scope));
  }
  TRY_STATUS(return_values(scope));
  scope.graph->set_outputs(scope.outputs);
  return in_.expect('}');
}

// Parses a statement that is allowed only in a method's graph. Returns false if a node follows instead.
Result<bool> Parser::method_statement(MethodScope& method, GraphScope& scope) {
  for (auto [word, spec] :
       {std::pair("in_spec", &method.method->in_spec), {"out_spec", &method.method->out_spec}}) {
    if (!in_.accept_word(word)) continue;
    TRY(*spec, in_.string("the argument tree of the method"));
    return true;
  }
  if (in_.accept_word("graph")) {
    TRY_STATUS(body(method));
  } else if (in_.accept_word("store")) {
    TRY_STATUS(store(scope));
  } else if (in_.accept_word("output")) {
    TRY_STATUS(output(scope));
  } else {
    return false;
  }
  return true;
}

Status Parser::body(MethodScope& method) {
  TRY_STATUS(in_.expect('@'));
  std::size_t start = in_.position();
  TRY(Name name, in_.name("the graph's name"));
  auto graph = std::make_unique<Graph>(name, *ops_);
  if (!method.bodies.emplace(name, graph.get()).second) {
    return in_.fault_at(start, fmt::format("graph '@{}' is defined twice", name.str()));
  }
  GraphScope scope{.graph = graph.get(), .values = {}, .outputs = {}, .output_specs = {}};
  method.method->bodies.push_back(std::move(graph));
  TRY_STATUS(inputs(nullptr, scope));
  return statements(method, scope);
}

// `method` is null for a body, whose inputs have no roles.
Status Parser::inputs(MethodScope* method, GraphScope& scope) {
  TRY_STATUS(in_.expect('('));
  if (in_.accept(')')) return {};
  do {
    std::size_t start = in_.position();
    TRY(Name name, value_name());
    if (scope.values.contains(name)) {
      return in_.fault_at(start, fmt::format("value '%{}' is defined twice", name.str()));
    }
    TRY_STATUS(in_.expect(':'));
    TRY(Type input_type, type());
    scope.values[name] = scope.graph->add_input(name, std::move(input_type));
    if (method == nullptr) continue;
    InputSpec spec;
    if (in_.accept('=')) {
      TRY(spec, role(scope));
    }
    method->method->inputs.push_back(spec);
  } while (in_.accept(','));
  return in_.expect(')');
}

Result<InputSpec> Parser::role(GraphScope& scope) {
  InputSpec spec;
  std::size_t start = in_.position();
  if (!in_.accept_word("value")) {
    auto kind = meaning(input_roles, in_.take_identifier());
    if (!kind) return in_.fault_at(start, "expected param, buffer, constant, object, token, input or value");
    spec.kind = *kind;
    if (spec.kind == InputSpec::Kind::Buffer && in_.accept_word("transient")) spec.persistent = false;
    TRY(std::string target, in_.string("a name"));
    spec.target = Name::scoped(target);
    if (!in_.accept_word("value")) return spec;
  }
  start = in_.position();
  TRY(Argument constant, literal(scope));
  bool is_scalar = constant.is_number() || constant.is_none() || constant.kind == Argument::Kind::String;
  if (!is_scalar) return in_.fault_at(start, "expected a number, string, true, false or none");
  spec.constant = constant;
  return spec;
}

Status Parser::store(GraphScope& scope) {
  std::size_t start = in_.position();
  auto kind = meaning(store_roles, in_.take_identifier());
  if (!kind) return in_.fault_at(start, "expected buffer, param, input or token");
  TRY(std::string target, in_.string("the target of the store"));
  TRY_STATUS(in_.expect('='));
  TRY(Argument value, output_value(scope));
  scope.outputs.push_back(value);
  scope.output_specs.push_back({*kind, Name::scoped(target)});
  return {};
}

Result<Argument> Parser::output_value(GraphScope& scope) {
  references_.clear();
  TRY(Argument value, literal(scope));
  if (references_.empty()) return value;
  const Reference& reference = references_.front();
  return in_.fault_at(reference.position,
                      fmt::format("'@{}' can only be an argument of a node", reference.name.str()));
}

Status Parser::output(GraphScope& scope) {
  TRY(Argument value, output_value(scope));
  scope.outputs.push_back(value);
  scope.output_specs.push_back({});
  return {};
}

Status Parser::return_values(GraphScope& scope) {
  if (in_.peek() == '}') return {};
  do {
    TRY_STATUS(output(scope));
  } while (in_.accept(','));
  return {};
}

Status Parser::node(MethodScope& method, GraphScope& scope) {
  references_.clear();
  std::size_t start = in_.position();
  TRY(std::vector<ResultSpec> specs, results());
  TRY(Name op_name, op());
  TRY_STATUS(arguments(scope));
  Node* added = scope.graph->add(op_name, args_, kwargs_, specs);
  for (Value* result : added->results()) {
    Name name = specs[result->index()].name;  // the graph renames duplicates
    bool is_new = result->name() == name && scope.values.emplace(name, result).second;
    if (!is_new) return in_.fault_at(start, fmt::format("value '%{}' is defined twice", name.str()));
  }
  if (!references_.empty()) method.references.emplace_back(added, std::move(references_));
  return attributes(*added);
}

// Parses the values left of "="; returns an empty list if the node starts with its op.
Result<std::vector<ResultSpec>> Parser::results() {
  std::vector<ResultSpec> specs;
  if (in_.peek() != '%') return specs;
  do {
    TRY(Name name, value_name());
    TRY_STATUS(in_.expect(':'));
    TRY(Type result_type, type());
    specs.push_back({name, std::move(result_type)});
  } while (in_.accept(','));
  TRY_STATUS(in_.expect('='));
  return specs;
}

Result<Name> Parser::op() {
  std::size_t start = in_.position();
  if (std::string_view word = in_.take_op(); !word.empty()) return Name::scoped(word);
  if (in_.peek() != '"') return in_.fault("expected an operator, like aten.add.Tensor");
  TRY(std::string name, in_.string("an operator"));
  if (name.empty()) return in_.fault_at(start, "expected an operator, not an empty string");
  return Name::scoped(name);
}

// Fills args_ and kwargs_. A word or string followed by "=" is a keyword.
Status Parser::arguments(GraphScope& scope) {
  args_.clear();
  kwargs_.clear();
  TRY_STATUS(in_.expect('('));
  if (in_.accept(')')) return {};
  do {
    std::size_t start = in_.position();
    std::string key(in_.take_identifier());
    if (key.empty() && in_.peek() == '"') {
      TRY(key, in_.string("a keyword"));
    }
    if (!key.empty() && in_.accept('=')) {
      TRY(Argument value, literal(scope));
      kwargs_.push_back({Name::scoped(key), value});
      continue;
    }
    in_.go_back(start);
    if (!kwargs_.empty()) return in_.fault("expected a keyword argument after a keyword argument");
    TRY(Argument value, literal(scope));
    args_.push_back(value);
  } while (in_.accept(','));
  return in_.expect(')');
}

Status Parser::attributes(Node& node) {
  if (in_.accept('!')) {
    TRY(node.tag, in_.name("a tag"));
  }
  if (in_.peek() == '#') {
    TRY(node.debug_handle, handle());
  }
  if (in_.accept_word("from")) {
    TRY(node.source, source(node.graph()));
  }
  if (in_.accept_word("for")) TRY_STATUS(origins(node));
  return {};
}

// Parses one or several "#" int ["from" source]: the origins of the nodes that this node replaces.
Status Parser::origins(Node& node) {
  std::vector<NodeOrigin> origins;
  do {
    NodeOrigin& origin = origins.emplace_back();
    TRY(origin.debug_handle, handle());
    if (in_.accept_word("from")) {
      TRY(origin.source, source(node.graph()));
    }
  } while (in_.accept(','));
  node.replaced = node.graph().add_origins(origins);
  return {};
}

// Parses string ":" int [string [string [string]]]: file, line, module path, original op, custom.
Result<const SourceLocation*> Parser::source(Graph& graph) {
  SourceLocation location;
  TRY(std::string file_name, in_.string("a file"));
  location.file = Name::scoped(file_name);
  TRY_STATUS(in_.expect(':'));
  std::size_t start = in_.position();
  TRY(std::int64_t line, in_.integer("a line"));
  if (line < 0 || line > INT32_MAX) return in_.fault_at(start, "expected a line number (32-bit integer)");
  location.line = static_cast<std::int32_t>(line);
  for (Name* part : {&location.module_path, &location.original_op, &location.custom}) {
    if (in_.peek() != '"') break;
    start = in_.position();
    TRY(std::string text, in_.string("a name"));
    if (in_.peek() == '(') {  // a quoted op, which starts the next node
      in_.go_back(start);
      break;
    }
    *part = Name::scoped(text);
  }
  return graph.add_source(location);
}

// Converts @name literals that name a graph of the method to Graph arguments; all others must be delegates.
void Parser::resolve_references(ProgramScope& scope, const MethodScope& method) {
  const Reference* next = nullptr;  // the literals come in the order in which they were read
  auto resolve = [&](const Argument& leaf) -> Argument {
    if (leaf.kind != Argument::Kind::Delegate) return leaf;
    const Reference& reference = *next++;
    const auto found = method.bodies.find(reference.name);
    if (reference.may_be_graph && found != method.bodies.end()) return Argument::of(found->second);
    scope.delegate_uses.emplace_back(reference.name, reference.position);
    return leaf;
  };
  for (const auto& [node, references] : method.references) {
    next = references.data();
    Graph& graph = node->graph();
    std::vector<Argument> args;
    std::vector<NamedArgument> kwargs;
    for (const Argument& argument : node->args()) args.push_back(graph.import_leaves(argument, resolve));
    for (const auto& [name, argument] : node->kwargs())
      kwargs.push_back({name, graph.import_leaves(argument, resolve)});
    graph.set_args(*node, args, kwargs);
  }
}

}  // namespace depute::text
