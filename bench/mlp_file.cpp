#include "bench/mlp_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/unit/read/zip_writer.h"

namespace depute {
namespace {

// The parts of the program's JSON that grow with the model.
struct Parts {
  std::string inputs, nodes, types, input_specs, weights;
};

void append(std::string& list, const std::string& element) {
  list += (list.empty() ? "" : ", ") + element;
}

std::string tensor(const std::string& name) {
  return fmt::format(R"({{"as_tensor": {{"name": "{}"}}}})", name);
}

std::string meta(const std::vector<int>& sizes) {
  std::string size_list;
  std::string stride_list;
  int stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0; stride *= sizes[i]) {
    stride_list =
        fmt::format(R"({{"as_int": {}}}{}{})", stride, stride_list.empty() ? "" : ", ", stride_list);
  }
  for (int size : sizes) append(size_list, fmt::format(R"({{"as_int": {}}})", size));
  return fmt::format(
      R"({{"dtype": 7, "sizes": [{}], "requires_grad": false, "device": {{"type": "cpu", "index": null}}, )"
      R"("strides": [{}], "storage_offset": {{"as_int": 0}}, "layout": 7}})",
      size_list, stride_list);
}

std::string metadata(int layer, std::string_view function) {
  return fmt::format(
      R"-({{"stack_trace": "File \"/home/user/model.py\", line 20, in forward\n    x = torch.relu(layer(x))\n  )-"
      R"-(File \"/usr/lib/python3/dist-packages/torch/nn/modules/linear.py\", line 134, in forward\n    return )-"
      R"-(F.linear(input, self.weight, self.bias)", "nn_module_stack": "L__self__,,model.Mlp;L__self___layers_{0},)-"
      R"-(layers.{0},torch.nn.modules.linear.Linear", "torch_fn": "{1}_{0};builtin_function_or_method.{1}"}})-",
      layer, function);
}

void add_weight(Parts& parts, std::vector<ZipEntry>& entries, const std::string& name,
                const std::vector<int>& sizes) {
  std::string input = "p_" + name;
  append(parts.inputs, tensor(input));
  append(parts.types, fmt::format(R"("{}": {})", input, meta(sizes)));
  append(parts.input_specs,
         fmt::format(R"({{"parameter": {{"arg": {{"name": "{}"}}, "parameter_name": "{}"}}}})", input, name));
  append(parts.weights,
         fmt::format(R"("{}": {{"path_name": "weight_{}", "is_param": true, "use_pickle": false, )"
                     R"("tensor_meta": {}}})",
                     name, entries.size(), meta(sizes)));
  std::size_t count = 1;
  for (int size : sizes) count *= static_cast<std::size_t>(size);
  // No two weights are equal, so that none can stand for another.
  std::string bytes(count * sizeof(float), '\0');
  std::string number = std::to_string(entries.size());
  bytes.replace(0, std::min(number.size(), bytes.size()), number.substr(0, bytes.size()));
  entries.push_back({.name = fmt::format("m/data/weights/weight_{}", entries.size()), .content = bytes});
}

void add_node(Parts& parts, std::string_view op, const std::string& inputs, const std::string& name,
              const MlpShape& shape, int layer, std::string_view function) {
  append(parts.nodes,
         fmt::format(R"({{"target": "torch.ops.aten.{}", "inputs": [{}], "outputs": [{}], "metadata": {}, )"
                     R"("is_hop_single_tensor_return": null, "name": "{}"}})",
                     op, inputs, tensor(name), metadata(layer, function), name));
  append(parts.types, fmt::format(R"("{}": {})", name, meta({1, shape.width})));
}

std::string argument(std::string_view name, const std::string& value) {
  return fmt::format(R"({{"name": "{}", "arg": {}, "kind": 1}})", name, tensor(value));
}

void add_layer(Parts& parts, std::vector<ZipEntry>& entries, const MlpShape& shape, int layer,
               std::string& last) {
  std::string weight = fmt::format("layers_{}_weight", layer);
  std::string bias = fmt::format("layers_{}_bias", layer);
  add_weight(parts, entries, weight, {shape.width, shape.width});
  add_weight(parts, entries, bias, {shape.width});
  std::string linear = fmt::format("linear_{}", layer);
  std::string relu = fmt::format("relu_{}", layer);
  add_node(parts, "linear.default",
           fmt::format("{}, {}, {}", argument("input", last), argument("weight", "p_" + weight),
                       argument("bias", "p_" + bias)),
           linear, shape, layer, "linear");
  add_node(parts, "relu.default", argument("self", linear), relu, shape, layer, "relu");
  last = relu;
}

std::string program_json(const Parts& parts, const MlpShape& shape, const std::string& last) {
  return fmt::format(
      R"({{"graph_module": {{"graph": {{"inputs": [{}, {}], "outputs": [{}], "nodes": [{}], )"
      R"("tensor_values": {{{}, "x": {}}}, "sym_int_values": {{}}, "sym_bool_values": {{}}, )"
      R"("is_single_tensor_return": false, "custom_obj_values": {{}}, "sym_float_values": {{}}}}, )"
      R"("signature": {{"input_specs": [{}, {{"user_input": {{"arg": {}}}}}], )"
      R"("output_specs": [{{"user_output": {{"arg": {}}}}}]}}, "module_call_graph": [], "metadata": {{}}}}, )"
      R"("range_constraints": {{}}, "schema_version": {{"major": 8, "minor": 20}}, "verifiers": ["TRAINING"]}})",
      parts.inputs, tensor("x"), tensor(last), parts.nodes, parts.types, meta({1, shape.width}),
      parts.input_specs, tensor("x"), tensor(last));
}

}  // namespace

MlpFile::MlpFile(const MlpShape& shape) {
  Parts parts;
  std::vector<ZipEntry> entries;
  std::string last = "x";
  for (int layer = 0; layer < shape.layers; ++layer) add_layer(parts, entries, shape, layer, last);
  entries.push_back({.name = "m/data/weights/model_weights_config.json",
                     .content = fmt::format(R"({{"config": {{{}}}}})", parts.weights)});
  entries.push_back({.name = "m/models/model.json", .content = program_json(parts, shape, last)});
  entries.push_back({.name = "m/archive_format", .content = "pt2"});
  static int count = 0;
  path_ = (std::filesystem::temp_directory_path() / fmt::format("depute_bench_{}_{}.pt2", getpid(), count++))
              .string();
  constexpr std::size_t max_without_zip64 = 0xfffe;
  std::ofstream(path_, std::ios::binary)
      << make_zip(entries, {.comment = {}, .zip64_end = entries.size() > max_without_zip64});
}

MlpFile::~MlpFile() {
  std::filesystem::remove(path_);
}

}  // namespace depute
