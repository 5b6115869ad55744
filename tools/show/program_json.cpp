#include "tools/show/program_json.h"

#include <nlohmann/json.hpp>

#include "depute/program/text.h"
#include "depute/tools/report.h"

namespace depute {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name(InputSpec::Kind kind) {
  switch (kind) {
    case InputSpec::Kind::UserInput:
      return "user_input";
    case InputSpec::Kind::Parameter:
      return "parameter";
    case InputSpec::Kind::Buffer:
      return "buffer";
    case InputSpec::Kind::Constant:
      return "constant";
    case InputSpec::Kind::CustomObj:
      return "custom_obj";
    case InputSpec::Kind::Token:
      return "token";
  }
  return "";
}

std::string_view name(OutputSpec::Kind kind) {
  switch (kind) {
    case OutputSpec::Kind::UserOutput:
      return "user_output";
    case OutputSpec::Kind::BufferMutation:
      return "buffer_mutation";
    case OutputSpec::Kind::ParameterMutation:
      return "parameter_mutation";
    case OutputSpec::Kind::UserInputMutation:
      return "user_input_mutation";
    case OutputSpec::Kind::Token:
      return "token";
  }
  return "";
}

Json value_json(const Value& value) {
  return {{"name", value.name().str()}, {"type", str(value.type())}};
}

Json node_json(const Node& node) {
  Json json = {{"op", node.op().str()}};
  json["args"] = Json::array();
  for (const Argument& argument : node.args()) json["args"].push_back(print(argument));
  json["kwargs"] = Json::object();
  for (const auto& [key, argument] : node.kwargs()) json["kwargs"][std::string(key.str())] = print(argument);
  json["results"] = Json::array();
  for (const Value* result : node.results()) json["results"].push_back(value_json(*result));
  json["debug_handle"] = node.debug_handle;
  for (const NodeOrigin& origin : node.replaced) json["replaced"].push_back(origin.debug_handle);
  json["source"] = node.source != nullptr ? node.source->str() : "";
  return json;
}

Json graph_json(const Graph& graph) {
  Json json = {{"name", graph.name().str()}};
  json["nodes"] = Json::array();
  for (const Node& node : graph.nodes()) json["nodes"].push_back(node_json(node));
  json["outputs"] = Json::array();
  for (const Argument& output : graph.outputs()) json["outputs"].push_back(print(output));
  return json;
}

Json method_json(const Method& method) {
  Json json = {{"name", method.name.str()}};
  json["inputs"] = Json::array();
  for (const Value* input : method.graph->inputs()) {
    Json entry = value_json(*input);
    const InputSpec& spec = method.inputs[input->index()];
    entry["kind"] = name(spec.kind);
    entry["target"] = spec.target.str();
    json["inputs"].push_back(std::move(entry));
  }
  json["output_kinds"] = Json::array();
  for (const OutputSpec& spec : method.outputs) json["output_kinds"].push_back(name(spec.kind));
  json["graph"] = graph_json(*method.graph);
  json["bodies"] = Json::array();
  for (const auto& body : method.bodies) json["bodies"].push_back(graph_json(*body));
  return json;
}

Json delegate_outline(const Delegate& delegate) {
  Json json = {{"name", delegate.name.str()},
               {"backend_id", delegate.backend_id},
               {"blob_bytes", blob_bytes(delegate)}};
  json["named_data"] = Json::object();
  for (const NamedData& data : delegate.named_data) json["named_data"][data.key] = data.storage->size();
  return json;
}

}  // namespace

std::string program_json(const Program& program) {
  Json json;
  json["methods"] = Json::array();
  for (const auto& method : program.methods) json["methods"].push_back(method_json(*method));
  json["data"] = Json::object();
  for (const auto& [key, data] : program.data) json["data"][std::string(key.str())] = str(data.type);
  json["ranges"] = Json::object();
  for (const auto& [symbol, range] : program.ranges) {
    json["ranges"][symbol] = {range.min == Range::min_bound ? Json(nullptr) : Json(range.min),
                              range.max == Range::max_bound ? Json(nullptr) : Json(range.max)};
  }
  json["delegates"] = Json::array();
  for (const auto& delegate : program.delegates) json["delegates"].push_back(delegate_outline(*delegate));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace depute
