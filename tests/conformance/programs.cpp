#include "programs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "ir/copy.h"
#include "read/read_program.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

// Bytes that are small numbers of the type: halves for floats, 0 and 1 for all others.
TensorData small_numbers(const TensorType& type) {
  TensorType dense = make_tensor(type.dtype, type.sizes);
  std::size_t count = 1;
  for (const SymInt& size : type.sizes) count *= static_cast<std::size_t>(size.value());
  std::vector<std::byte> bytes(count * item_size(type.dtype));
  for (std::size_t i = 0; i < count; ++i) {
    if (type.dtype == ScalarType::F32) {
      float number = static_cast<float>(i % 7) / 2.0f - 1.0f;
      std::memcpy(bytes.data() + 4 * i, &number, 4);
    } else if (type.dtype == ScalarType::F64) {
      double number = static_cast<double>(i % 7) / 2.0 - 1.0;
      std::memcpy(bytes.data() + 8 * i, &number, 8);
    } else if (!is_floating(type.dtype) && !is_complex(type.dtype)) {
      bytes[i * item_size(type.dtype)] = static_cast<std::byte>(i % 2);
    }
  }
  return make_data(dense, std::move(bytes));
}

// One node with its operands as inputs; with `parameters` all tensors but the first are parameters.
Program alone(const Node& node, bool parameters) {
  Program program;
  Method& method = program.add_method(Name("forward"));
  std::map<const Value*, Value*> inputs;
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Value* value = node.operand(i);
    if (inputs.contains(value)) continue;
    bool is_first = inputs.empty();
    inputs[value] = method.graph->add_input(value->name(), value->type());
    InputSpec& spec = method.inputs.emplace_back();
    if (!parameters || is_first || !value->type().is_tensor() || !value->tensor().is_static()) continue;
    spec.kind = InputSpec::Kind::Parameter;
    spec.target = value->name();
    program.data[spec.target] = small_numbers(value->tensor());
  }
  BodyMap no_bodies;
  NodeCopier copier(*method.graph, no_bodies);
  Node* copy = copier.copy(node, [&](const Value* value) { return Argument::of(inputs.at(value)); });
  copy->debug_handle = 1;
  std::vector<Argument> outputs;
  for (Value* result : copy->results()) outputs.push_back(Argument::of(result));
  method.graph->set_outputs(outputs);
  method.outputs.resize(outputs.size());
  return program;
}

void add_folder(const fs::path& folder, std::vector<TestProgram>& programs) {
  if (!fs::is_directory(folder)) return;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".pt2" || entry.path().extension() == ".ir")
      files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    auto program = read_program(file.string());
    if (!program) {
      ADD_FAILURE() << program.error().str();
      continue;
    }
    programs.push_back({file.string(), std::move(*program)});
  }
}

}  // namespace

std::vector<TestProgram> op_programs() {
  std::vector<TestProgram> programs;
  auto recorded = read_program("tests/unit/ops/op_types.ir");
  if (!recorded) {
    ADD_FAILURE() << recorded.error().str();
    return programs;
  }
  const NameScope::Use use(recorded->names);
  for (const Node& node : recorded->methods.front()->graph->nodes()) {
    std::string name = fmt::format("{} {}", node.op().str(), node.display_name());
    programs.push_back({name, alone(node, false)});
    programs.push_back({name + " with parameters", alone(node, true)});
  }
  return programs;
}

std::vector<TestProgram> model_programs() {
  std::vector<TestProgram> programs;
  add_folder("tests/models/samples", programs);
  add_folder("tests/conformance/programs", programs);
  return programs;
}

std::vector<TestProgram> backend_programs() {
  std::vector<fs::path> folders;
  for (const auto& backend : fs::directory_iterator("backends"))
    folders.push_back(backend.path() / "conformance");
  std::ranges::sort(folders);
  std::vector<TestProgram> programs;
  for (const fs::path& folder : folders) add_folder(folder, programs);
  return programs;
}

std::vector<RuntimeValue> made_up_inputs(const Method& method) {
  std::vector<RuntimeValue> inputs;
  for (const Value* input : method.graph->inputs()) {
    const InputSpec& spec = method.inputs[input->index()];
    if (spec.has_data()) continue;
    if (!input->type().is_tensor() || !input->tensor().is_static() || spec.constant) return {};
    inputs.emplace_back(small_numbers(input->tensor()));
  }
  return inputs;
}

}  // namespace depute
