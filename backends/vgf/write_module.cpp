#include "write_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "declarations.h"
#include "instructions.h"
#include "requirements.h"

namespace depute::vgf {
namespace {

using spirv::Id;
using spirv::Opcode;
using spirv::Words;
using tosa::DType;
using tosa::Op;
using tosa::TensorId;
using tosa::TosaOp;
using tosa::TosaTensor;

constexpr std::uint32_t version_1_5 = 0x00010500;
constexpr std::uint32_t generator = 0x00160017;  // MLIR's, as the converter has it
constexpr std::uint32_t vulkan_memory_model = 3;
constexpr std::uint32_t decoration_binding = 33, decoration_descriptor_set = 34;
constexpr std::uint64_t propagate_nan = 1;

// The numbers that TOSA's instructions give the types of accumulators.
std::uint64_t accumulator_number(DType dtype) {
  switch (dtype) {
    case DType::I32:
      return 1;
    case DType::F16:
      return 2;
    case DType::F32:
      return 3;
    default:
      return 4;  // I48
  }
}

std::uint64_t bound_number(double bound, DType dtype) {
  std::uint64_t bits = 0;
  const std::vector<std::uint8_t> bytes = tosa::bound_bytes(bound, dtype);
  for (std::size_t i = 0; i < bytes.size(); ++i) bits |= std::uint64_t{bytes[i]} << (8 * i);
  return bits;
}

// Operators whose constant operand the converter moves behind the other one.
bool is_commutative(Op op) {
  constexpr std::array ops = {Op::Add,        Op::BitwiseAnd, Op::BitwiseOr,  Op::BitwiseXor, Op::Equal,
                              Op::LogicalAnd, Op::LogicalOr,  Op::LogicalXor, Op::Maximum,    Op::Minimum};
  return std::ranges::find(ops, op) != ops.end();
}

class ModuleWriter {
 public:
  ModuleWriter(const tosa::TosaGraph& graph, const UsedConstants& constants)
      : graph_(graph), constants_(constants), ids_(graph.tensors.size()) {}

  Words write() {
    for (const TensorId id : graph_.inputs)
      add_variable(id, fmt::format("{}_arg_{}", graph_name, variables_.size()));
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      add_variable(graph_.outputs[i], fmt::format("{}_res_{}", graph_name, i));
    begin_graph();
    for (const UsedConstant& constant : constants_.constants) add_constant(constant);
    for (const TosaOp& op : graph_.ops) add_op(op);
    end_graph();
    return module();
  }

 private:
  const TosaTensor& tensor(TensorId id) const { return graph_.tensors[id]; }
  Id type_of(TensorId id) { return declarations_.tensor_type(tensor(id).dtype, tensor(id).shape); }

  // Declares where the graph reads an argument or writes a result.
  void add_variable(TensorId id, std::string_view name) {
    const Id type = declarations_.pointer_type(tensor(id).dtype, tensor(id).shape);
    const Id variable = declarations_.new_id();
    const auto binding = static_cast<std::uint32_t>(variables_.size());
    spirv::add(names_, Opcode::Name, {variable}, name);
    spirv::add(decorations_, Opcode::Decorate, {variable, decoration_binding, binding});
    spirv::add(decorations_, Opcode::Decorate, {variable, decoration_descriptor_set, 0});
    declarations_.add(Opcode::Variable, {type, variable, 0});
    variables_.push_back(variable);
  }

  void begin_graph() {
    const Id graph = declarations_.new_id();
    Words entry_point = {graph};
    spirv::add_text(entry_point, graph_name);
    entry_point.insert(entry_point.end(), variables_.begin(), variables_.end());
    spirv::add(body_, Opcode::GraphEntryPoint, entry_point);
    const Id type = declarations_.new_id();
    Words types = {type, static_cast<std::uint32_t>(graph_.inputs.size())};
    for (const TensorId id : graph_.inputs) types.push_back(type_of(id));
    for (const TensorId id : graph_.outputs) types.push_back(type_of(id));
    declarations_.add(Opcode::TypeGraph, types);
    spirv::add(body_, Opcode::Graph, {type, graph});
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Id input = ids_[graph_.inputs[i]] = declarations_.new_id();
      spirv::add(body_, Opcode::GraphInput, {type_of(graph_.inputs[i]), input, declarations_.index(i)});
    }
  }

  void end_graph() {
    requirements_.graph_instruction();
    for (const TensorId id : graph_.outputs) requirements_.tensor(tensor(id).dtype);
    for (const TensorId id : graph_.inputs) requirements_.tensor(tensor(id).dtype);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      spirv::add(body_, Opcode::GraphSetOutput, {ids_[graph_.outputs[i]], declarations_.index(i)});
    spirv::add(body_, Opcode::GraphEnd, {});
  }

  void add_constant(const UsedConstant& constant) {
    if (constant.literal)
      ids_[constant.tensor] = literal(*constant.literal);
    else
      add_graph_constant(constant.tensor);
  }

  void add_graph_constant(TensorId tensor_id) {
    const TosaTensor& constant = tensor(tensor_id);
    requirements_.graph_instruction();
    requirements_.tensor(constant.dtype);
    const Id type = declarations_.tensor_type(constant.dtype, constant.shape);
    const Id id = ids_[tensor_id] = declarations_.new_id();
    declarations_.add(Opcode::GraphConstant, {type, id, graph_constants_++});
  }

  Id literal(const Literal& literal) {
    const bool is_filled =
        literal.bits.size() > 1 &&
        std::ranges::all_of(literal.bits, [&](std::uint64_t bits) { return bits == literal.bits[0]; });
    if (is_filled) requirements_.replicated_tensor();
    requirements_.tensor(literal.dtype);
    return is_filled ? declarations_.filled_tensor(literal.dtype, literal.shape, literal.bits[0])
                     : declarations_.tensor(literal);
  }

  Id operand(TensorId id) const { return ids_[is_constant(id) ? constants_.same_as[id] : id]; }
  bool is_constant(TensorId id) const { return tensor(id).constant || tensor(id).dtype == DType::Shape; }

  // IDENTITY is no instruction: its result is its input.
  void add_op(const TosaOp& op) {
    if (op.op == Op::Identity) {
      ids_[op.output] = operand(op.inputs[0]);
      return;
    }
    require_types(op);
    const Id type = type_of(op.output);
    const Id id = ids_[op.output] = declarations_.new_id();
    Words operands = {type, id, 0, static_cast<std::uint32_t>(op.op) - 1};
    for (const Attribute attribute : attributes_of(op.op)) operands.push_back(attribute_id(op, attribute));
    const bool swaps = is_commutative(op.op) && is_constant(op.inputs[0]) && !is_constant(op.inputs[1]);
    const std::size_t first = operands.size();
    for (const TensorId input : op.inputs) operands.push_back(operand(input));
    if (swaps) std::swap(operands[first], operands[first + 1]);
    if (instruction_set_ == 0) instruction_set_ = declarations_.new_id();
    operands[2] = instruction_set_;
    spirv::add(body_, Opcode::ExtInst, operands);
  }

  void require_types(const TosaOp& op) {
    requirements_.graph_instruction();
    for (const TensorId input : op.inputs) requirements_.tensor(tensor(input).dtype);
    requirements_.tensor(tensor(op.output).dtype);
  }

  Id list(std::span<const std::int32_t> numbers) { return declarations_.tensor(literal_of(numbers)); }
  Id number(std::uint64_t value) { return declarations_.scalar(DType::I32, value); }
  Id flag(bool value) { return declarations_.scalar(DType::Bool, std::uint64_t{value}); }
  Id bound(const TosaOp& op, double value) {
    const DType dtype = tensor(op.output).dtype;
    return declarations_.scalar(dtype, bound_number(value, dtype));
  }

  Id attribute_id(const TosaOp& op, Attribute attribute) {
    switch (attribute) {
      case Attribute::Pad:
        return list(std::get<tosa::Window>(op.attributes).pad);
      case Attribute::Kernel:
        return list(std::get<tosa::Window>(op.attributes).kernel);
      case Attribute::Stride:
        return list(std::get<tosa::Window>(op.attributes).stride);
      case Attribute::Dilation:
        return list(std::get<tosa::Window>(op.attributes).dilation);
      case Attribute::Accumulator:
        return number(accumulator_number(tosa::accumulator(graph_, op)));
      case Attribute::NanMode:
        return number(propagate_nan);
      case Attribute::Axis:
        return number(static_cast<std::uint32_t>(std::get<tosa::Axis>(op.attributes).axis));
      case Attribute::Min:
        return bound(op, std::get<tosa::Limits>(op.attributes).min);
      case Attribute::Max:
        return bound(op, std::get<tosa::Limits>(op.attributes).max);
      case Attribute::Perms:
        return list(std::get<tosa::Permutation>(op.attributes).perms);
      case Attribute::ResizeMode:
        return number(static_cast<std::uint64_t>(std::get<tosa::ResizeBy>(op.attributes).mode));
      case Attribute::Round:
        return flag(std::get<tosa::Shift>(op.attributes).round);
      case Attribute::Scale32:
        return flag(std::get<tosa::RescaleBy>(op.attributes).scale32);
      case Attribute::Rounding:
        return number(static_cast<std::uint64_t>(std::get<tosa::RescaleBy>(op.attributes).rounding));
      case Attribute::PerChannel:
        return flag(std::get<tosa::RescaleBy>(op.attributes).per_channel);
      case Attribute::LocalBound:
      case Attribute::IsUnsigned:
      case Attribute::None:
        break;
    }
    return flag(false);
  }

  Words module() const {
    Words words = {spirv::magic, version_1_5, generator, declarations_.id_count(), 0};
    requirements_.declare(words);
    if (instruction_set_ != 0) spirv::add(words, Opcode::ExtInstImport, {instruction_set_}, instruction_set);
    spirv::add(words, Opcode::MemoryModel, {0, vulkan_memory_model});
    for (const Words* part : {&names_, &decorations_, &declarations_.words(), &body_})
      words.insert(words.end(), part->begin(), part->end());
    return words;
  }

  const tosa::TosaGraph& graph_;
  const UsedConstants& constants_;
  Declarations declarations_;
  Requirements requirements_;
  std::vector<Id> ids_;  // of tensors
  std::vector<Id> variables_;
  Words names_, decorations_, body_;
  Id instruction_set_ = 0;
  std::uint32_t graph_constants_ = 0;
};

}  // namespace

Words write_module(const tosa::TosaGraph& graph, const UsedConstants& constants) {
  return ModuleWriter(graph, constants).write();
}

}  // namespace depute::vgf
