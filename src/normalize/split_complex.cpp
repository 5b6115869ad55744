// Replaces complex tensors by their real and imaginary parts, for which the runtime has kernels.
//
//   %z = aten.view_as_complex.default(%x)             a = x[..., 0], b = x[..., 1]
//   %w = aten.mul.Tensor(%z, %rotation)         ->    c = real(rotation), s = imag(rotation)
//   %y = aten.view_as_real.default(%w)                y = stack([a * c - b * s, a * s + b * c], -1)
//
// The op table holds the rules (ops/math/complex_forms.h). A complex constant becomes two views of its storage.
#include <algorithm>

#include "depute/program/builder.h"
#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "normalize/apply_rules.h"
#include "normalize/passes.h"
#include "ops/math/complex_forms.h"

namespace depute {
namespace {

bool is_complex_tensor(const Value* value) {
  return value != nullptr && value->type().is_tensor() && is_complex(value->tensor().dtype);
}

bool has_complex_operand(const Node& node) {
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    if (is_complex_tensor(node.operand(i))) return true;
  }
  return false;
}
bool is_complex_node(const Node& node) {
  return std::ranges::any_of(node.results(), is_complex_tensor) || has_complex_operand(node);
}

// Returns a view of every second number of the storage, starting at `which`.
TensorData part_of_data(const TensorData& data, std::int64_t which) {
  Dims strides;
  const TensorType& type = data.type;
  for (const SymInt& stride : type.is_contiguous() ? contiguous_strides(type.sizes) : type.strides)
    strides.push_back(stride * 2);
  return {.type = make_tensor(part_of(type.dtype), type.sizes, std::move(strides)),
          .offset = 2 * data.offset + which,
          .storage = data.storage};
}

class ConstantParts {
 public:
  ConstantParts(Program& program, Method& method) : program_(program), method_(method) {}

  Status split() {
    const std::vector<Value*> inputs(method_.graph->inputs().begin(), method_.graph->inputs().end());
    for (Value* input : inputs) {
      if (!is_complex_tensor(input)) continue;
      const InputSpec& spec = method_.inputs[input->index()];
      const TensorData* data = spec.has_data() ? program_.find_data(spec.target) : nullptr;
      if (data == nullptr || data->storage->is_elided() || is_stored_to(spec.target)) continue;
      TRY_STATUS(split(*input, *data));
    }
    return {};
  }

 private:
  bool is_stored_to(Name target) const {
    return std::ranges::any_of(method_.outputs, [&](const OutputSpec& output) {
      return output.mutates_data() && output.target == target;
    });
  }

  Status split(Value& input, const TensorData& data) {
    Graph& graph = *method_.graph;
    TensorData parts[] = {part_of_data(data, 0), part_of_data(data, 1)};
    const Value* real = add_input(input, std::move(parts[0]));
    const Value* imaginary = add_input(input, std::move(parts[1]));
    Builder builder(graph, graph.first());
    Value* whole = complex_value_of(builder, real, imaginary);
    if (builder.failed()) return builder.status();
    graph.replace_uses(input, whole);
    return {};
  }

  Value* add_input(const Value& whole, TensorData data) {
    const Name key = program_.unique_data_key(whole.name().str());
    Value* input =
        method_.graph->add_input(whole.name(), tensor_type(make_tensor(data.type.dtype, data.type.sizes)));
    method_.inputs.push_back({.kind = InputSpec::Kind::Constant, .target = key});
    program_.data.emplace(key, std::move(data));
    return input;
  }

  Program& program_;
  Method& method_;
};

}  // namespace

// Afterwards no node has a complex operand or result if a rule exists for it. aten.complex is used only by
// returns and control flow.
Status split_complex(Program& program, const NormalizeOptions&) {
  for (auto& method : program.methods) {
    const std::vector<Graph*> graphs = graphs_of(*method);
    const auto has_complex = [](const Graph* graph) {
      return std::ranges::any_of(graph->nodes(), is_complex_node);
    };
    if (!std::ranges::any_of(graphs, has_complex)) continue;
    TRY_STATUS(ConstantParts(program, *method).split());
    for (Graph* graph : graphs) {
      TRY_STATUS(apply_rules(*method, *graph, program.ranges, [](const Node& node) -> DecomposeFunction {
        return node.def() != nullptr && is_complex_node(node) ? complex_form(*node.def()) : nullptr;
      }));
    }
  }
  return {};
}

}  // namespace depute
