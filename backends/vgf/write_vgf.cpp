#include "write_vgf.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "constants.h"
#include "format.h"
#include "vgf_generated.h"
#include "write_module.h"

namespace depute::vgf {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using tosa::DType;
using tosa::TensorId;
using tosa::TosaGraph;
using tosa::TosaTensor;

std::uint64_t rounded_up(std::uint64_t size) {
  return (size + constant_alignment - 1) / constant_alignment * constant_alignment;
}

std::span<const std::byte> bytes_of(const FlatBufferBuilder& builder) {
  return std::as_bytes(std::span<const std::uint8_t>(builder.GetBufferPointer(), builder.GetSize()));
}

template <typename T>
void append(std::vector<std::byte>& file, const T& record) {
  const auto* begin = reinterpret_cast<const std::byte*>(&record);
  file.insert(file.end(), begin, begin + sizeof record);
}

class FileWriter {
 public:
  explicit FileWriter(const TosaGraph& graph) : graph_(graph), used_(find_constants(graph)) {
    for (UsedConstant& constant : used_.constants) {
      if (constant.bytes) stored_.push_back(&constant);
    }
  }

  std::vector<std::byte> write() {
    make_modules();
    make_resources();
    make_sequence();
    Header header;
    std::uint64_t end = sizeof header;
    const auto section = [&](std::uint64_t size) { return Section{std::exchange(end, end + size), size}; };
    header.modules = section(modules_.GetSize());
    header.sequence = section(sequence_.GetSize());
    header.resources = section(resources_.GetSize());
    header.constants = section(constants_size());
    std::vector<std::byte> file;
    file.reserve(end);
    append(file, header);
    for (const FlatBufferBuilder* builder : {&modules_, &sequence_, &resources_}) {
      const auto bytes = bytes_of(*builder);
      file.insert(file.end(), bytes.begin(), bytes.end());
    }
    append_constants(file);
    return file;
  }

 private:
  void make_modules() {
    const spirv::Words words = write_module(graph_, used_);
    const auto code = wire::CreateSpirvDirect(modules_, &words);
    const std::string name(graph_name);
    const auto module = wire::CreateModuleDirect(modules_, wire::ModuleType::Graph, name.c_str(),
                                                 name.c_str(), wire::ModuleCode::Spirv, code.Union());
    modules_.Finish(wire::CreateModuleTable(modules_, modules_.CreateVector(std::vector{module})));
  }

  // Constants first, then inputs and outputs.
  void make_resources() {
    std::vector<Offset<wire::Resource>> made;
    const auto add = [&](TensorId id, std::uint32_t descriptor, wire::Category category) {
      const TosaTensor& tensor = graph_.tensors[id];
      const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
      const std::vector<std::int64_t> strides;
      const auto description = wire::CreateDescriptionDirect(resources_, &shape, &strides);
      made.push_back(
          wire::CreateResource(resources_, descriptor, format_of(tensor.dtype), category, description));
    };
    for (const UsedConstant* constant : stored_)
      add(constant->tensor, no_descriptor, wire::Category::Constant);
    for (const TensorId id : graph_.inputs) add(id, tensor_descriptor, wire::Category::Input);
    for (const TensorId id : graph_.outputs) add(id, tensor_descriptor, wire::Category::Output);
    resources_.Finish(wire::CreateResourceTable(resources_, resources_.CreateVector(made)));
  }

  void make_sequence() {
    using Slots = std::vector<Offset<wire::BindingSlot>>;
    Slots slots;
    for (std::size_t i = 0; i < graph_.inputs.size() + graph_.outputs.size(); ++i)
      slots.push_back(wire::CreateBindingSlot(sequence_, static_cast<std::uint32_t>(i),
                                              static_cast<std::uint32_t>(stored_.size() + i)));
    const auto middle = slots.begin() + static_cast<std::ptrdiff_t>(graph_.inputs.size());
    const Slots inputs(slots.begin(), middle), outputs(middle, slots.end());
    const std::vector segments = {make_segment(slots, inputs, outputs)};
    const auto input_names = make_names("input", inputs.size());
    const auto output_names = make_names("output", outputs.size());
    const auto of_inputs = sequence_.CreateVector(inputs);
    const auto of_outputs = sequence_.CreateVector(outputs);
    const auto of_input_names = sequence_.CreateVector(input_names);
    const auto of_output_names = sequence_.CreateVector(output_names);
    sequence_.Finish(wire::CreateSequence(sequence_, sequence_.CreateVector(segments), of_inputs, of_outputs,
                                          of_input_names, of_output_names));
  }

  Offset<wire::Segment> make_segment(const std::vector<Offset<wire::BindingSlot>>& slots,
                                     const std::vector<Offset<wire::BindingSlot>>& inputs,
                                     const std::vector<Offset<wire::BindingSlot>>& outputs) {
    const std::vector sets = {wire::CreateDescriptorSet(sequence_, sequence_.CreateVector(slots))};
    std::vector<std::uint32_t> constants(stored_.size());
    std::ranges::generate(constants, [i = std::uint32_t{0}]() mutable { return i++; });
    const auto of_constants = sequence_.CreateVector(constants);
    const auto dispatch = sequence_.CreateVector(std::vector<std::uint32_t>(3));
    const auto of_sets = sequence_.CreateVector(sets);
    const auto of_inputs = sequence_.CreateVector(inputs);
    const auto of_outputs = sequence_.CreateVector(outputs);
    const auto push_constants = sequence_.CreateVector(std::vector<Offset<wire::PushConstantRange>>());
    return wire::CreateSegment(sequence_, wire::ModuleType::Graph, sequence_.CreateString("graph_segment_0"),
                               0, of_sets, of_inputs, of_outputs, of_constants, dispatch, push_constants);
  }

  std::vector<Offset<flatbuffers::String>> make_names(std::string_view kind, std::size_t count) {
    std::vector<Offset<flatbuffers::String>> made;
    for (std::size_t i = 0; i < count; ++i)
      made.push_back(sequence_.CreateString(fmt::format("tosa_deserialized_{}_{}:0", kind, i)));
    return made;
  }

  std::uint64_t size_of(const UsedConstant& constant) const {
    return bytes_in_file(graph_.tensors[constant.tensor]);
  }

  std::uint64_t constants_size() const {
    std::uint64_t size = sizeof(ConstantsHeader) + stored_.size() * sizeof(ConstantEntry);
    for (const UsedConstant* constant : stored_) size += rounded_up(size_of(*constant));
    return size;
  }

  // Each constant's bytes are released when they are in the file.
  void append_constants(std::vector<std::byte>& file) {
    append(file, ConstantsHeader{.count = stored_.size()});
    ConstantEntry entry;
    for (const UsedConstant* constant : stored_) {
      entry.size = size_of(*constant);
      append(file, entry);
      entry.offset += rounded_up(entry.size);
      ++entry.resource;
    }
    for (UsedConstant* constant : stored_) {
      append_elements(file, constant->bytes->view(), graph_.tensors[constant->tensor]);
      file.resize(file.size() + rounded_up(size_of(*constant)) - size_of(*constant));
      constant->bytes.reset();
    }
  }

  const TosaGraph& graph_;
  UsedConstants used_;
  std::vector<UsedConstant*> stored_;  // constants that are not in the module
  FlatBufferBuilder modules_, sequence_, resources_;
};

}  // namespace

std::uint32_t format_of(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return 1000460000;
    case DType::I16:
      return 75;
    case DType::I32:
      return 99;
    case DType::I48:
      return 111;
    case DType::F16:
      return 76;
    case DType::BF16:
      return 1000460001;
    case DType::F32:
      return 100;
    default:
      return 14;  // I8
  }
}

std::vector<std::byte> write_vgf(const TosaGraph& graph) {
  return FileWriter(graph).write();
}

}  // namespace depute::vgf
