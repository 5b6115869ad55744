// Turns torch's schema, as write/pt2_program.h writes it, into the older one of ExecuTorch's serializer: its reader
// refuses members that it does not know.
//
//   {"inputs": [{"name": "self", "arg": ..., "kind": 1}], "is_hop_single_tensor_return": null, ...}
//     ->  {"inputs": [{"name": "self", "arg": ...}], ...}
#include "write/exir_program.h"

#include <fmt/format.h>

#include <array>
#include <set>

#include "ops/own_ops.h"
#include "support/try.h"
#include "write/pt2_program.h"

namespace depute {
namespace {

using Json = nlohmann::ordered_json;

constexpr int exir_major = 5;
constexpr int exir_minor = 4;
constexpr std::string_view torch_prefix = "torch.ops.";
constexpr std::string_view edge_prefix = "executorch.exir.dialects.edge.ops.";
constexpr std::string_view higher_order_prefix = "torch.ops.higher_order.";

// Element types up to bfloat16 have the same number in both schemas.
constexpr std::int64_t last_equal_dtype = 13;
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 3> other_dtypes = {
    {{28, 14}, {30, 15}, {29, 16}}};

const std::set<std::string, std::less<>> exir_arguments = {
    "as_none",          "as_tensor",          "as_tensors",  "as_int",       "as_ints",
    "as_float",         "as_floats",          "as_string",   "as_strings",   "as_sym_int",
    "as_sym_ints",      "as_scalar_type",     "as_layout",   "as_device",    "as_bool",
    "as_memory_format", "as_bools",           "as_sym_bool", "as_sym_bools", "as_graph",
    "as_operator",      "as_optional_tensors"};

Failure unknown(std::string_view what) {
  return failure("etrecord", "", fmt::format("ExecuTorch's format of programs does not have {}", what),
                 "leave the ETRecord out; --debug-map joins a profile with the lines of the model");
}

Result<std::int64_t> exir_dtype(const Json& number) {
  const auto dtype = number.get<std::int64_t>();
  if (dtype <= last_equal_dtype) return dtype;
  for (const auto& [torch, exir] : other_dtypes) {
    if (torch == dtype) return exir;
  }
  return unknown(fmt::format("the element type {}", name(*scalar_type_from_pt2(dtype))));
}

class ExirWriter {
 public:
  explicit ExirWriter(const ExirOptions& options) : options_(options) {}

  Status graph(Json& graph) {
    if (!graph["sym_float_values"].empty()) return unknown("symbolic floats");
    graph.erase("sym_float_values");
    for (auto& [value, meta] : graph["tensor_values"].items()) {
      auto dtype = exir_dtype(meta["dtype"]);
      if (!dtype) return at("%" + value, dtype.error());
      meta["dtype"] = *dtype;
    }
    for (std::string_view ends : {"inputs", "outputs"}) {
      for (Json& each : graph[ends]) TRY_STATUS(argument(each));
    }
    for (Json& each : graph["nodes"]) {
      const Status status = node(each);
      if (!status) return at("node %" + each["name"].get<std::string>(), status.error());
    }
    return {};
  }

 private:
  static Status at(std::string_view where, Diagnostic error) {
    if (error.where.empty()) error.where = where;
    return Failure(std::move(error));
  }

  Status argument(Json& argument) {
    const std::string kind = argument.begin().key();
    if (!exir_arguments.contains(kind))
      return unknown(fmt::format("arguments of the kind {}", kind.substr(3)));
    Json& value = argument.begin().value();
    if (kind == "as_none") value = Json::array();
    if (kind == "as_scalar_type") {
      TRY(value, exir_dtype(value));
    }
    if (kind == "as_graph") TRY_STATUS(graph(value["graph"]));
    return {};
  }

  Status node(Json& node) {
    Json& inputs = node["inputs"];
    const bool is_delegate = node["target"] == torch_target_of_delegates();
    if (is_delegate) inputs.erase(0);  // its payload, which an Edge program does not have yet
    bool has_names = true;
    for (Json& input : inputs) {
      input.erase("kind");
      has_names &= input["name"] != "";
      TRY_STATUS(argument(input["arg"]));
    }
    for (Json& output : node["outputs"]) TRY_STATUS(argument(output));
    node.erase("is_hop_single_tensor_return");
    node["target"] = target(node["target"].get<std::string>(), has_names && !is_delegate);
    // Its reader expects the only result of such an op as a list.
    const std::string op = node["target"];
    if (op.starts_with(higher_order_prefix) && node["outputs"].size() == 1 &&
        node["outputs"][0].contains("as_tensor"))
      node["outputs"][0] = {{"as_tensors", Json::array({node["outputs"][0]["as_tensor"]})}};
    trace(node["metadata"]);
    return {};
  }

  static std::string torch_target_of_delegates() {
    return fmt::format("{}{}", torch_prefix, torch_delegate_call);
  }

  std::string target(const std::string& target, bool has_schema) const {
    if (!target.starts_with(torch_prefix)) return target;  // a function of Python: _operator.add
    if (target.starts_with(higher_order_prefix) && target != torch_target_of_delegates()) return target;
    const std::string op = target.substr(torch_prefix.size());
    if (!has_schema) return op;  // the reader makes a place holder of a name that is none of Python's
    return fmt::format("{}{}", options_.is_edge ? edge_prefix : torch_prefix, op);
  }

  // Names the node of the exported program that this one comes from.
  void trace(Json& metadata) const {
    const auto handle = static_cast<std::uint32_t>(std::stoul(metadata["debug_handle"].get<std::string>()));
    const auto origin = options_.origins.find(handle);
    if (origin == options_.origins.end()) return;
    metadata["from_node"] = pt2_text(Json::array({{{"name", origin->second},
                                                   {"target", origin->second},
                                                   {"graph_id", exported_graph_id},
                                                   {"pass_name", "to_edge"},
                                                   {"action", "create"},
                                                   {"from_node", Json::array()}}}));
  }

  const ExirOptions& options_;
};

}  // namespace

Result<Json> exir_program(const Program& program, const Method& method, const ExirOptions& options) {
  Pt2Options torch;
  torch.is_edge = options.is_edge;
  torch.calls_delegates = true;
  torch.leaves_names = true;
  torch.is_exir = true;
  TRY(Json told, pt2_program(program, method, torch));
  Json& module = told["graph_module"];
  ExirWriter writer(options);
  TRY_STATUS(writer.graph(module["graph"]));
  // Its reader checks these names when the program is empty yet.
  for (Json& call : module["module_call_graph"]) {
    call["signature"].erase("forward_arg_names");
    call["signature"]["inputs"] = call["signature"]["outputs"] = Json::array();
  }
  for (std::string_view specs : {"input_specs", "output_specs"}) {
    for (Json& spec : module["signature"][specs]) {
      if (spec.contains("constant_input") && spec["constant_input"]["value"].contains("as_none"))
        spec["constant_input"]["value"]["as_none"] = Json::array();
    }
  }
  return Json{{"graph_module",
               {{"graph", std::move(module["graph"])},
                {"signature", std::move(module["signature"])},
                {"module_call_graph", std::move(module["module_call_graph"])}}},
              {"opset_version", std::move(told["opset_version"])},
              {"range_constraints", std::move(told["range_constraints"])},
              {"schema_version", {{"major", exir_major}, {"minor", exir_minor}}},
              {"dialect", ""},
              {"verifiers", Json::array({options.is_edge ? "EDGE" : "TRAINING"})}};
}

std::map<std::uint32_t, std::string> node_names(const Method& method) {
  std::map<std::uint32_t, std::string> names;
  for (const Node& node : method.graph->nodes()) {
    if (node.debug_handle != 0) names.emplace(node.debug_handle, pt2_call_name(node));
  }
  return names;
}

}  // namespace depute
