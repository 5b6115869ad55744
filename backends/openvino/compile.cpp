// Checks inputs and results, converts the program, compiles it for the CPU, and exports the blob.
//
// The runtime imports blobs without properties, so these are set by the model's runtime information:
//
//   runtime_options / DYNAMIC_QUANTIZATION_GROUP_SIZE = 0      activations stay floats beside int8 weights
#include "compile.h"

#include <openvino/runtime/core.hpp>

#include "convert.h"
#include "keep_precision.h"

namespace depute::openvino {
namespace {

// Fails unless the value is a tensor of static size with an element type that OpenVINO supports.
Status check_value(const Value& value) {
  if (!value.type().is_tensor() || !value.tensor().is_static() || !element_type(value.tensor().dtype))
    return failure(
        "openvino", value.name().str(),
        str(value.type()) + " must be a tensor with constant sizes and a dtype that OpenVINO supports");
  return {};
}

Status check_rank(const Value& value) {
  if (value.tensor().rank() > 0) return {};
  return failure(
      "openvino", value.name().str(),
      str(value.type()) + " is an argument or result of rank 0, which OpenVINO's runtime does not support");
}

Status check_method(const Method& method) {
  if (method.graph->outputs().empty())
    return failure("openvino", method.name.str(), "the partition has no results");
  for (const Value* input : method.graph->inputs()) {
    DEPUTE_TRY_STATUS(check_value(*input));
    if (!method.inputs[input->index()].has_data()) DEPUTE_TRY_STATUS(check_rank(*input));
  }
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    const Argument& output = method.graph->outputs()[i];
    if (!output.is_value()) return failure("openvino", method.name.str(), "a result is not a tensor");
    DEPUTE_TRY_STATUS(check_value(*output.as_value()));
    DEPUTE_TRY_STATUS(check_rank(*output.as_value()));
    if (method.outputs[i].kind != OutputSpec::Kind::UserOutput)
      return failure("openvino", method.name.str(),
                     "'" + std::string(method.outputs[i].target.str()) +
                         "' is mutated, but OpenVINO blobs cannot have state");
  }
  for (const Node& node : method.graph->nodes()) {
    if (node.def() == nullptr)
      return node_failure(node, "openvino",
                          "OpenVINO does not support the unknown op " + std::string(node.op().str()));
    for (const Value* result : node.results())
      if (result->has_uses()) DEPUTE_TRY_STATUS(check_value(*result));
  }
  return {};
}

}  // namespace

Status compile(const Program& program, std::string_view precision, std::ostream& blob) {
  if (program.methods.size() != 1) return failure("openvino", "", "a partition must have one method");
  const Method& method = *program.methods[0];
  DEPUTE_TRY_STATUS(check_method(method));
  std::vector<const Value*> returned;
  for (const Argument& output : method.graph->outputs()) returned.push_back(output.as_value());
  DEPUTE_TRY(const auto model, convert(whole_graph(program, method), returned));
  model->set_rt_info("0", "runtime_options", "DYNAMIC_QUANTIZATION_GROUP_SIZE");
  ov::Core core;
  const ov::AnyMap properties = keep_precision(core, *model, precision);
  core.compile_model(model, "CPU", properties).export_model(blob);
  return {};
}

}  // namespace depute::openvino
