// Converts with OpenVINO's PyTorch frontend and adapts the model. Dropped parameters are restored, repeated
// results are added, and results get the program's element types.
//
//   return %x, %y, %y        ->   Result(Parameter 0), Result(y), Result(y)
#include "convert.h"

#include <openvino/frontend/pytorch/frontend.hpp>
#include <openvino/op/convert.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>
#include <openvino/op/util/framework_node.hpp>

#include <algorithm>
#include <unordered_set>

#include "mend_infinities.h"
#include "quantized_ops.h"

namespace depute::openvino {
namespace {

// The frontend with access to its op table, and with this backend's conversions.
class PyTorchFrontEnd : public ov::frontend::pytorch::FrontEnd {
 public:
  PyTorchFrontEnd() {
    for (const auto& extension : quantized_extensions()) add_extension(extension);
  }
  ov::frontend::InputModel::Ptr read(const GraphPart& part, bool marks_nodes) const {
    return load(make_decoder(part, marks_nodes));
  }
  std::vector<std::string> table(const ov::frontend::InputModel::Ptr& model) const {
    std::vector<std::string> names;
    for (const auto& [name, conversion] : get_supported_ops(model)) names.push_back(name);
    std::ranges::sort(names);
    return names;
  }
};

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// Returns the parameter of an input, or a new one: the frontend drops parameters without readers.
std::shared_ptr<ov::op::v0::Parameter> parameter_of(const ov::Model& model, const std::string& name,
                                                    const TensorType& type) {
  for (const auto& parameter : model.get_parameters()) {
    const auto& names = parameter->output(0).get_names();
    if (parameter->get_friendly_name() == name || names.contains(name)) return parameter;
  }
  auto parameter = std::make_shared<ov::op::v0::Parameter>(*element_type(type.dtype), shape_of(type));
  parameter->set_friendly_name(name);
  return parameter;
}

// Creates a result with the value's own type.
Result<std::shared_ptr<ov::op::v0::Result>> result_of(ov::Output<ov::Node> output, const Value& value) {
  const TensorType& type = value.tensor();
  if (output.get_partial_shape() != ov::PartialShape(shape_of(type)))
    return failure("openvino", value.name().str(),
                   "OpenVINO infers the shape " + output.get_partial_shape().to_string() +
                       ", but the program declares " + str(type));
  const ov::element::Type wanted = *element_type(type.dtype);
  if (output.get_element_type() != wanted) output = std::make_shared<ov::op::v0::Convert>(output, wanted);
  return std::make_shared<ov::op::v0::Result>(output);
}

// Returns the reason that an unconverted node contains.
std::string reason_of(const ov::op::util::FrameworkNode& node) {
  for (const auto& [key, text] : node.get_attrs()) {
    if (key.find("xception") != key.npos || key.find("reason") != key.npos) return one_line(text);
  }
  return "no conversion";
}

bool depends_on(const ov::Node& node, const std::unordered_set<const ov::Node*>& others) {
  std::vector<const ov::Node*> waiting = {&node};
  std::unordered_set<const ov::Node*> seen;
  while (!waiting.empty()) {
    const ov::Node* next = waiting.back();
    waiting.pop_back();
    for (const auto& input : next->input_values()) {
      const ov::Node* producer = input.get_node();
      if (others.contains(producer)) return true;
      if (seen.insert(producer).second) waiting.push_back(producer);
    }
  }
  return false;
}

using Faults = std::unordered_map<std::uint32_t, std::string>;

Faults faults_of(const ov::Model& model) {
  std::unordered_set<const ov::Node*> unconverted;
  for (const auto& node : model.get_ops())
    if (ov::is_type<ov::op::util::FrameworkNode>(node)) unconverted.insert(node.get());
  Faults faults;
  for (const ov::Node* node : unconverted) {
    const auto origin = node->get_rt_info().find(origin_key);
    if (origin == node->get_rt_info().end() || depends_on(*node, unconverted)) continue;
    faults.emplace(static_cast<std::uint32_t>(origin->second.as<std::int64_t>()),
                   reason_of(static_cast<const ov::op::util::FrameworkNode&>(*node)));
  }
  if (faults.empty() && !unconverted.empty()) throw std::runtime_error("some nodes have no conversion");
  return faults;
}

// Returns results whose shapes differ from the program's.
Faults wrong_shapes(const ov::Model& model, const GraphPart& part) {
  Faults faults;
  for (std::size_t i = 0; i < part.outputs.size(); ++i) {
    const Value& value = *part.outputs[i];
    const ov::PartialShape shape = model.get_results().at(i)->get_input_partial_shape(0);
    if (value.producer() != nullptr && shape != ov::PartialShape(shape_of(value.tensor())))
      faults.emplace(value.producer()->id(),
                     "a result has the shape " + shape.to_string() + " instead of " + str(value.tensor()));
  }
  return faults;
}

Faults try_conversion(const GraphPart& part) {
  const PyTorchFrontEnd frontend;
  const auto model = frontend.convert_partially(frontend.read(part, true));
  Faults faults = faults_of(*model);
  if (!faults.empty()) return faults;
  frontend.normalize(model);
  faults = faults_of(*model);
  return faults.empty() ? wrong_shapes(*model, part) : faults;
}

}  // namespace

std::vector<std::string> convertible_ops() {
  const Program program;
  Method method;
  method.graph = std::make_unique<Graph>();
  Value* input = method.graph->add_input(Name("x"), tensor_type(make_tensor(ScalarType::F32, {1})));
  method.inputs.emplace_back();
  method.graph->set_outputs(std::vector<Argument>{Argument::of(input)});
  const PyTorchFrontEnd frontend;
  return frontend.table(frontend.read(whole_graph(program, method), false));
}

Result<std::shared_ptr<ov::Model>> convert(const GraphPart& part, const std::vector<const Value*>& returned) {
  const PyTorchFrontEnd frontend;
  const auto converted = frontend.convert(frontend.read(part, true));
  std::unordered_map<const Value*, ov::Output<ov::Node>> outputs;
  for (std::size_t i = 0; i < part.outputs.size(); ++i)
    outputs[part.outputs[i]] = converted->get_results().at(i)->input_value(0);
  ov::ParameterVector parameters;
  for (std::size_t i = 0; i < part.inputs.size(); ++i)
    parameters.push_back(parameter_of(*converted, input_name(i), part.inputs[i]->tensor()));
  ov::ResultVector results;
  for (const Value* value : returned) {
    DEPUTE_TRY(auto result, result_of(outputs.at(value), *value));
    results.push_back(std::move(result));
  }
  auto model = std::make_shared<ov::Model>(results, parameters, "depute");
  mend_infinities(*model);
  for (const auto& node : model->get_ops()) node->get_rt_info().erase(origin_key);  // not needed in a blob
  return model;
}

Faults find_unconvertible(const GraphPart& part) {
  try {
    return try_conversion(part);
  } catch (const std::exception&) {
    // The error names no node, so each node is tried alone.
  }
  Faults faults;
  for (const Node& node : part.graph->nodes()) {
    if (!part.includes(node)) continue;
    try {
      faults.merge(try_conversion(part_of_nodes(part, [&](const Node& each) { return &each == &node; })));
    } catch (const std::exception& error) {
      faults.emplace(node.id(), one_line(error.what()));
    }
  }
  if (!faults.empty()) return faults;
  for (const Node& node : part.graph->nodes())
    if (part.includes(node))
      faults.emplace(node.id(), "OpenVINO converts each node alone, but not all nodes together");
  return faults;
}

}  // namespace depute::openvino
