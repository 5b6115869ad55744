#include "tools/show/program_json.h"

#include "depute/program/text.h"
#include "depute/tools/report.h"
#include "support/fields.h"

namespace depute {

static constexpr std::pair<std::string_view, InputSpec::Kind> input_words[] = {
    {"user_input", InputSpec::Kind::UserInput}, {"parameter", InputSpec::Kind::Parameter},
    {"buffer", InputSpec::Kind::Buffer},        {"constant", InputSpec::Kind::Constant},
    {"custom_obj", InputSpec::Kind::CustomObj}, {"token", InputSpec::Kind::Token}};

static constexpr std::pair<std::string_view, OutputSpec::Kind> output_words[] = {
    {"user_output", OutputSpec::Kind::UserOutput},
    {"buffer_mutation", OutputSpec::Kind::BufferMutation},
    {"parameter_mutation", OutputSpec::Kind::ParameterMutation},
    {"user_input_mutation", OutputSpec::Kind::UserInputMutation},
    {"token", OutputSpec::Kind::Token}};

static JsonValue json_of(const Argument& argument) {
  return print(argument);
}

static JsonValue json_of(const TensorData& data) {
  return str(data.type);
}

static JsonValue json_of(const OutputSpec& spec) {
  return word_in<OutputSpec::Kind>(output_words, spec.kind);
}

static JsonValue json_of(const NodeOrigin& origin) {
  return origin.debug_handle;
}

static JsonValue json_of(const Range& range) {
  return {range.min == Range::min_bound ? JsonValue(nullptr) : JsonValue(range.min),
          range.max == Range::max_bound ? JsonValue(nullptr) : JsonValue(range.max)};
}

static void fields(FieldWriter& visit, const Value& value) {
  visit("name", value.name(), "type", str(value.type()));
}

static void fields(FieldWriter& visit, const Node& node) {
  visit("op", node.op(), "args", node.args());
  JsonValue kwargs = JsonValue::object();
  for (const auto& [key, argument] : node.kwargs()) kwargs[std::string(key.str())] = print(argument);
  visit("kwargs", std::move(kwargs), "results", node.results(), "debug_handle", node.debug_handle);
  visit.omit_empty("replaced", node.replaced);
  visit("source", node.source != nullptr ? node.source->str() : "");
}

static void fields(FieldWriter& visit, const Graph& graph) {
  visit("name", graph.name(), "nodes", graph.nodes(), "outputs", graph.outputs());
}

static void fields(FieldWriter& visit, const Method& method) {
  JsonValue inputs = JsonValue::array();
  for (const Value* input : method.graph->inputs()) {
    const InputSpec& spec = method.inputs[input->index()];
    FieldWriter entry;
    fields(entry, *input);
    entry("kind", word_in<InputSpec::Kind>(input_words, spec.kind), "target", spec.target);
    inputs.push_back(std::move(entry).take());
  }
  visit("name", method.name, "inputs", std::move(inputs), "output_kinds", method.outputs, "graph",
        *method.graph, "bodies", method.bodies);
}

static void fields(FieldWriter& visit, const Delegate& delegate) {
  JsonValue named_data = JsonValue::object();
  for (const NamedData& data : delegate.named_data) named_data[data.key] = data.storage->size();
  visit("name", delegate.name, "backend_id", delegate.backend_id, "blob_bytes", blob_bytes(delegate),
        "named_data", std::move(named_data));
}

std::string program_json(const Program& program) {
  FieldWriter visit;
  visit("methods", program.methods, "data", program.data, "ranges", program.ranges, "delegates",
        program.delegates);
  return dump_json(std::move(visit).take(), 1);
}

}  // namespace depute
