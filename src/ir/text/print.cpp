// Prints programs and graphs in the text form (grammar and samples in docs/ir.md), in one pass.
#include "depute/program/text.h"

#include <charconv>
#include <iterator>

#include "ir/text/printer.h"
#include "ir/text/spelling.h"
#include "ir/text/text.h"

namespace depute::text {

void Printer::line() {
  out_.append(2 * depth_, ' ');
}

void Printer::quoted(std::string_view text) {
  append_quoted(out_, text);
}

void Printer::name(std::string_view name) {
  if (is_identifier(name)) {
    out_ += name;
  } else {
    quoted(name);
  }
}

void Printer::number(std::int64_t value) {
  char buffer[24];
  out_.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

void Printer::program(const Program& program) {
  out_ += "program\n";
  items(program);
}

void Printer::items(const Program& program) {
  for (const auto& [key, bounds] : program.ranges) range(key, bounds);
  for (const auto& [key, tensor] : program.data) data(key, tensor);
  for (const auto& delegate_ptr : program.delegates) {
    if (!out_.empty()) out_ += '\n';
    delegate(*delegate_ptr);
  }
  for (const auto& method_ptr : program.methods) {
    if (!out_.empty()) out_ += '\n';
    method(*method_ptr);
  }
}

void Printer::range(const std::string& key, const Range& range) {
  auto bound = [&](std::int64_t value) {
    if (value == Range::max_bound) {
      out_ += "inf";
    } else if (value == Range::min_bound) {
      out_ += "-inf";
    } else {
      number(value);
    }
  };
  line();
  out_ += "dim ";
  name(key);
  out_ += " in [";
  bound(range.min);
  out_ += ", ";
  bound(range.max);
  out_ += "]\n";
}

void Printer::method(const Method& method) {
  body_names_.clear();
  // The printed form of delegates depends on the bodies.
  if (compact_ != nullptr) compact_->last_of_op.clear();
  for (const auto& body_graph : method.bodies) body_names_.insert(body_graph->name());
  line();
  out_ += "method ";
  name(method.name.str());
  inputs(*method.graph, &method);
  out_ += " {\n";
  ++depth_;
  for (const auto& [word, spec] :
       {std::pair("in_spec ", &method.in_spec), std::pair("out_spec ", &method.out_spec)}) {
    if (spec->empty()) continue;
    line();
    out_ += word;
    quoted(*spec);
    out_ += '\n';
  }
  for (const auto& body_graph : method.bodies) body(*body_graph);
  nodes(*method.graph);
  outputs(*method.graph, &method);
  --depth_;
  line();
  out_ += "}\n";
}

void Printer::body(const Graph& graph) {
  line();
  out_ += "graph ";
  reference(graph.name());
  inputs(graph, nullptr);
  out_ += " {\n";
  ++depth_;
  nodes(graph);
  outputs(graph, nullptr);
  --depth_;
  line();
  out_ += "}\n";
}

void Printer::inputs(const Graph& graph, const Method* method) {
  out_ += '(';
  for (const Value* input : graph.inputs()) {
    if (input->index() > 0) out_ += ", ";
    value(*input);
    out_ += ": ";
    out_ += str(input->type());
    if (method != nullptr && input->index() < method->inputs.size()) role(method->inputs[input->index()]);
  }
  out_ += ')';
}

// Prints the role of an input; a plain user input has none.
void Printer::role(const InputSpec& spec) {
  if (spec.kind == InputSpec::Kind::UserInput && spec.target.empty() && !spec.constant) return;
  out_ += " = ";
  if (spec.kind != InputSpec::Kind::UserInput || !spec.target.empty()) {
    out_ += spelling(input_roles, spec.kind);
    if (spec.kind == InputSpec::Kind::Buffer && !spec.persistent) out_ += " transient";
    out_ += ' ';
    quoted(spec.target.str());
    if (spec.constant) out_ += ' ';
  }
  if (!spec.constant) return;
  out_ += "value ";
  literal(*spec.constant);
}

void Printer::nodes(const Graph& graph) {
  if (compact_ != nullptr) return compact_nodes(graph);
  for (const Node& graph_node : graph.nodes()) {
    line();
    node(graph_node);
    out_ += '\n';
  }
}

// User outputs after the last store are printed in the `return`, earlier ones as `output` statements.
void Printer::outputs(const Graph& graph, const Method* method) {
  std::span<const Argument> values = graph.outputs();
  auto store_role = [&](std::size_t i) {
    if (method == nullptr || i >= method->outputs.size()) return std::string_view();
    return spelling(store_roles, method->outputs[i].kind);
  };
  std::size_t returned = values.size();
  while (returned > 0 && store_role(returned - 1).empty()) --returned;
  for (std::size_t i = 0; i < returned; ++i) {
    line();
    if (store_role(i).empty()) {
      out_ += "output ";
    } else {
      out_ += "store ";
      out_ += store_role(i);
      out_ += ' ';
      quoted(method->outputs[i].target.str());
      out_ += " = ";
    }
    literal(values[i]);
    out_ += '\n';
  }
  line();
  out_ += "return";
  for (std::size_t i = returned; i < values.size(); ++i) {
    out_ += i == returned ? " " : ", ";
    literal(values[i]);
  }
  out_ += '\n';
}

void Printer::node(const Node& node) {
  for (const Value* result : node.results()) {
    if (result->index() > 0) out_ += ", ";
    value(*result);
    out_ += ": ";
    out_ += str(result->type());
  }
  if (!node.results().empty()) out_ += " = ";
  if (is_plain_op(node.op().str())) {
    out_ += node.op().str();
  } else {
    quoted(node.op().str());
  }
  out_ += '(';
  std::size_t start = out_.size();
  for (const Argument& argument : node.args()) {
    if (out_.size() > start) out_ += ", ";
    literal(argument);
  }
  for (const NamedArgument& argument : node.kwargs()) {
    if (out_.size() > start) out_ += ", ";
    name(argument.name.str());
    out_ += '=';
    literal(argument.value);
  }
  out_ += ')';
  if (!options_.marks) return;
  if (!node.tag.empty()) {
    out_ += " !";
    name(node.tag.str());
  }
  if (node.debug_handle != 0 && !is_in_line()) {
    out_ += " #";
    number(node.debug_handle);
  }
  if (options_.sources && node.source != nullptr) source(*node.source);
  for (const NodeOrigin& origin : node.replaced) {
    out_ += &origin == node.replaced.data() ? " for #" : ", #";
    number(origin.debug_handle);
    if (options_.sources && origin.source != nullptr) source(*origin.source);
  }
}

void Printer::source(const SourceLocation& source) {
  out_ += " from ";
  quoted(source.file.str());
  out_ += ':';
  number(source.line);
  const Name parts[] = {source.module_path, source.original_op, source.custom};
  std::size_t count = std::size(parts);
  while (count > 0 && parts[count - 1].empty()) --count;
  for (std::size_t i = 0; i < count; ++i) {
    out_ += ' ';
    quoted(parts[i].str());
  }
}

void Printer::value(const Value& value) {
  if (is_in_line()) {
    out_ += "%_";
    return;
  }
  const auto other = options_.names != nullptr ? options_.names->find(&value) : ValueNames::const_iterator();
  const Name name =
      options_.names != nullptr && other != options_.names->end() ? other->second : value.name();
  out_ += '%';
  if (is_plain_name(name.str())) {
    out_ += name.str();
  } else {
    quoted(name.str());
  }
}

void Printer::reference(Name name_of_graph) {
  out_ += '@';
  name(name_of_graph.str());
}

void Printer::list(std::span<const Argument> elements) {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) out_ += ", ";
    literal(elements[i]);
  }
}

void Printer::map(std::span<const NamedArgument> entries) {
  out_ += '{';
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) out_ += ", ";
    quoted(entries[i].name.str());
    out_ += ": ";
    literal(entries[i].value);
  }
  out_ += '}';
}

void Printer::literal(const Argument& argument) {
  auto call = [&](std::string_view word, std::string_view text) {
    out_ += word;
    quoted(text);
    out_ += ')';
  };
  const auto word = [&](std::string_view dotted) {
    out_ += '.';
    out_ += dotted;
  };
  switch (argument.kind) {
    case Argument::Kind::None:
      out_ += "none";
      return;
    case Argument::Kind::Value:
      return value(*argument.as_value());
    case Argument::Kind::Int:
      return number(argument.as_int());
    case Argument::Kind::Float:
      out_ += float_text(argument.as_double());
      return;
    case Argument::Kind::Bool:
      out_ += argument.as_bool() ? "true" : "false";
      return;
    case Argument::Kind::Complex:
      out_ += "complex(";
      list(argument.as_list());
      out_ += ')';
      return;
    case Argument::Kind::String:
      return quoted(argument.as_symbol().str());
    case Argument::Kind::ScalarType:
      return word(depute::name(argument.as_scalar_type()));
    case Argument::Kind::MemoryFormat:
      return word(spelling(memory_formats, static_cast<MemoryFormat>(argument.as_int())));
    case Argument::Kind::Layout:
      return word(spelling(layouts, static_cast<Layout>(argument.as_int())));
    case Argument::Kind::Device:
      return call("device(", argument.as_symbol().str());
    case Argument::Kind::List:
      out_ += '[';
      list(argument.as_list());
      out_ += ']';
      return;
    case Argument::Kind::Graph:
      return reference(argument.as_graph()->name());
    case Argument::Kind::Operator: {
      std::string_view op = argument.as_symbol().str();
      if (!is_plain_op(op) || op.find('.') == std::string_view::npos) return call("operator(", op);
      out_ += op;
      return;
    }
    case Argument::Kind::Delegate:
      if (body_names_.contains(argument.as_symbol())) return call("delegate(", argument.as_symbol().str());
      return reference(argument.as_symbol());
    case Argument::Kind::Map:
      return map(argument.as_map());
  }
}

}  // namespace depute::text

namespace depute {

std::string print(const Program& program, const PrintOptions& options) {
  text::Printer printer(options);
  printer.program(program);
  return printer.take();
}

std::string print(const Graph& graph) {
  text::Printer printer({});
  printer.body(graph);
  return printer.take();
}

std::string print(const Node& node, const PrintOptions& options) {
  text::Printer printer(options);
  printer.node(node);
  return printer.take();
}

std::string print(const Argument& argument) {
  text::Printer printer({});
  printer.literal(argument);
  return printer.take();
}

}  // namespace depute
