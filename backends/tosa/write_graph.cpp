#include "write_graph.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lower/weights/constant.h"
#include "support/check.h"
#include "support/try.h"
#include "tosa_generated.h"

namespace depute::tosa {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr std::uint32_t propagate_nan = 1;
constexpr std::uint32_t major_version = 1;

// Writes the region of one graph.
class Writer {
 public:
  Writer(const TosaGraph& graph, FlatBufferBuilder& builder) : graph_(graph), builder_(builder) {}

  Offset<wire::Region> write() {
    std::vector<Offset<wire::Operator>> ops;
    std::vector<Offset<flatbuffers::String>> inputs;
    std::vector<Offset<flatbuffers::String>> outputs;
    for (const TensorId id : graph_.inputs) {
      inputs.push_back(name_of(id));
      declare(id, ops);
    }
    for (const TosaOp& op : graph_.ops) {
      for (const TensorId id : op.inputs) declare(id, ops);
      declare(op.output, ops);
      for (const TensorId id : op.more_outputs) declare(id, ops);
      ops.push_back(op_of(op));
    }
    for (const TensorId id : graph_.outputs) outputs.push_back(name_of(id));
    const auto name = builder_.CreateString(graph_.name);
    const auto of_shapes = builder_.CreateVector(shapes_);
    const auto of_outputs = builder_.CreateVector(outputs), of_inputs = builder_.CreateVector(inputs);
    const auto of_tensors = builder_.CreateVector(tensors_);
    const auto of_ops = builder_.CreateVector(ops);
    const auto block =
        wire::CreateBlock(builder_, name, of_ops, of_tensors, of_inputs, of_outputs, of_shapes);
    return wire::CreateRegion(builder_, name, builder_.CreateVector(std::vector{block}));
  }

 private:
  // Adds the tensor, and the operator that makes a constant, at its first mention.
  void declare(TensorId id, std::vector<Offset<wire::Operator>>& ops) {
    if (is_declared_[id]) return;
    is_declared_[id] = true;
    const TosaTensor& tensor = graph_.tensors[id];
    if (tensor.dtype == DType::Shape) {
      const auto* numbers = reinterpret_cast<const std::uint8_t*>(tensor.numbers.data());
      builder_.ForceVectorAlignment(tensor.numbers.size() * sizeof(std::int64_t), 1, 8);
      const auto data = builder_.CreateVector(numbers, tensor.numbers.size() * sizeof(std::int64_t));
      const auto name = name_of(id);
      shapes_.push_back(
          wire::CreateShape(builder_, name, static_cast<std::uint32_t>(tensor.numbers.size()), data));
      ops.push_back(constant_op(Op::ConstShape, id));
      return;
    }
    Offset<flatbuffers::Vector<std::uint8_t>> data;
    if (tensor.constant) data = constant_bytes(*tensor.constant);
    const std::vector<std::int32_t> shape(tensor.shape.begin(), tensor.shape.end());
    const auto sizes = builder_.CreateVector(shape);
    const auto name = name_of(id);
    wire::TensorBuilder made(builder_);
    made.add_name(name);
    made.add_shape(sizes);
    made.add_type(static_cast<std::uint32_t>(tensor.dtype));
    if (tensor.constant) made.add_data(data);
    tensors_.push_back(made.Finish());
    if (tensor.constant) ops.push_back(constant_op(Op::Const, id));
  }

  Offset<flatbuffers::Vector<std::uint8_t>> constant_bytes(const Constant& constant) {
    const weights::Bytes bytes(constant.storage());
    const auto view = bytes.view();
    builder_.ForceVectorAlignment(view.size(), 1, 8);
    return builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(view.data()), view.size());
  }

  Offset<flatbuffers::String> name_of(TensorId id) {
    if (!names_[id].IsNull()) return names_[id];
    const TosaTensor& tensor = graph_.tensors[id];
    const std::string made = tensor.dtype == DType::Shape ? fmt::format("shape.{}", constants_++)
                             : !tensor.name.empty()       ? tensor.name
                                                          : fmt::format("constant.{}", constants_++);
    return names_[id] = builder_.CreateString(unique_name(made));
  }

  // "w", then "w.1" for another form of the same constant, or another tensor of this name.
  std::string unique_name(const std::string& name) {
    std::string made = name;
    while (!used_.insert(made).second) made = fmt::format("{}.{}", name, ++forms_[name]);
    return made;
  }

  Offset<wire::Operator> constant_op(Op op, TensorId id) {
    const auto attribute = wire::CreateNothing(builder_).Union();
    const auto inputs = builder_.CreateVector(std::vector<Offset<flatbuffers::String>>());
    const auto outputs = builder_.CreateVector(std::vector{name_of(id)});
    return wire::CreateOperator(builder_, static_cast<std::uint32_t>(op), static_cast<wire::Attribute>(op),
                                attribute, inputs, outputs);
  }

  Offset<wire::Operator> op_of(const TosaOp& op) {
    std::vector<Offset<flatbuffers::String>> names;
    for (const TensorId id : op.inputs) names.push_back(name_of(id));
    const auto attribute = attribute_of(op);
    const auto inputs = builder_.CreateVector(names);
    names = {name_of(op.output)};
    for (const TensorId id : op.more_outputs) names.push_back(name_of(id));
    const auto outputs = builder_.CreateVector(names);
    Offset<wire::Location> location;
    if (!op.handles.empty())
      location = wire::CreateLocation(builder_,
                                      builder_.CreateString(fmt::format("{}", fmt::join(op.handles, ","))));
    return wire::CreateOperator(builder_, static_cast<std::uint32_t>(op.op),
                                static_cast<wire::Attribute>(op.op), attribute, inputs, outputs, location);
  }

  std::uint32_t accumulator(const TosaOp& op) const {
    return static_cast<std::uint32_t>(tosa::accumulator(graph_, op));
  }

  Offset<void> attribute_of(const TosaOp& op) {
    switch (op.op) {
      case Op::AvgPool2d:
      case Op::MaxPool2d: {
        const auto& window = std::get<Window>(op.attributes);
        return wire::CreatePoolDirect(builder_, &window.kernel, &window.stride, &window.pad,
                                      op.op == Op::MaxPool2d ? propagate_nan : accumulator(op))
            .Union();
      }
      case Op::Conv2d:
      case Op::Conv3d:
      case Op::DepthwiseConv2d: {
        const auto& window = std::get<Window>(op.attributes);
        return wire::CreateConvolutionDirect(builder_, &window.pad, &window.stride, &window.dilation, false,
                                             accumulator(op))
            .Union();
      }
      case Op::TransposeConv2d: {
        const auto& window = std::get<Window>(op.attributes);
        return wire::CreateTransposedConvolutionDirect(builder_, &window.pad, &window.stride, false,
                                                       accumulator(op))
            .Union();
      }
      case Op::Clamp: {
        const auto& limits = std::get<Limits>(op.attributes);
        const DType dtype = graph_.tensors[op.output].dtype;
        builder_.ForceVectorAlignment(bit_count(dtype) / 8, 1, 8);
        const auto least = builder_.CreateVector(bound_bytes(limits.min, dtype));
        builder_.ForceVectorAlignment(bit_count(dtype) / 8, 1, 8);
        const auto most = builder_.CreateVector(bound_bytes(limits.max, dtype));
        return wire::CreateClamp(builder_, least, most, propagate_nan).Union();
      }
      case Op::Maximum:
      case Op::Minimum:
        return wire::CreateNan(builder_, propagate_nan).Union();
      case Op::ArgMax:
      case Op::ReduceMax:
      case Op::ReduceMin:
        return wire::CreateAxis(builder_, std::get<Axis>(op.attributes).axis, propagate_nan).Union();
      case Op::ReduceAll:
      case Op::ReduceAny:
      case Op::ReduceProduct:
      case Op::ReduceSum:
      case Op::Concat:
      case Op::Reverse:
        return wire::CreateAxis(builder_, std::get<Axis>(op.attributes).axis).Union();
      case Op::Transpose:
        return wire::CreatePermutationDirect(builder_, &std::get<Permutation>(op.attributes).perms).Union();
      case Op::Resize:
        return wire::CreateResize(builder_,
                                  static_cast<std::uint32_t>(std::get<ResizeBy>(op.attributes).mode))
            .Union();
      case Op::Rescale: {
        const auto& by = std::get<RescaleBy>(op.attributes);
        return wire::CreateRescale(builder_, by.scale32, static_cast<std::uint32_t>(by.rounding),
                                   by.per_channel, false, false)
            .Union();
      }
      case Op::CondIf:
      case Op::WhileLoop: {
        const auto& bodies = std::get<Bodies>(op.attributes);
        return wire::CreateBranchesDirect(builder_, bodies.first.c_str(), bodies.second.c_str()).Union();
      }
      case Op::ArithmeticRightShift:
        return wire::CreateShift(builder_, std::get<Shift>(op.attributes).round).Union();
      default:
        return wire::CreateNothing(builder_).Union();
    }
  }

  const TosaGraph& graph_;
  FlatBufferBuilder& builder_;
  std::vector<Offset<wire::Tensor>> tensors_;
  std::vector<Offset<wire::Shape>> shapes_;
  std::vector<bool> is_declared_ = std::vector<bool>(graph_.tensors.size());
  std::vector<Offset<flatbuffers::String>> names_ =
      std::vector<Offset<flatbuffers::String>>(graph_.tensors.size());
  std::uint32_t constants_ = 0;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::uint32_t> forms_;  // of tensors by name
};

}  // namespace

std::vector<std::byte> write_graph(const TosaGraph& graph) {
  FlatBufferBuilder builder;
  std::vector regions = {Writer(graph, builder).write()};
  for (const TosaGraph& body : graph.bodies) regions.push_back(Writer(body, builder).write());
  const auto version = wire::CreateVersion(builder, major_version, graph.version == Version::V1_0 ? 0 : 1, 0,
                                           graph.version != Version::V1_0);
  builder.Finish(wire::CreateGraph(builder, version, builder.CreateVector(regions)), wire::GraphIdentifier());
  const std::span<const std::uint8_t> bytes(builder.GetBufferPointer(), builder.GetSize());
  const auto view = std::as_bytes(bytes);
  return {view.begin(), view.end()};
}

}  // namespace depute::tosa
