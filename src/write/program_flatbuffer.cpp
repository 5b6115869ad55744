#include "write/program_flatbuffer.h"

#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

#include "program_generated.h"

namespace depute {
namespace {

using flatbuffers::Offset;
using flatbuffers::Vector;

// Upper bound in bytes on a value, instruction or string in the flatbuffer, without its own list or text.
constexpr std::uint64_t max_entry_bytes = 192;

std::uint64_t size_bound(const Plan& plan, const SegmentLayout& layout) {
  std::uint64_t entries = layout.segment_count + layout.inline_blobs.size() + layout.named_data.size() +
                          plan.constants.size() + plan.initial_values.size() + 16;
  std::uint64_t bytes = 0;
  for (const auto& named : layout.named_data) bytes += named.key.size();
  for (const auto& blob : layout.inline_blobs) {
    if (blob != nullptr) bytes += blob->size() + 2 * layout.inline_alignment;
  }
  for (const ExecutionPlan& method : plan.methods) {
    entries += 8 + method.values.size() + method.instructions.size() + method.operators.size();
    bytes += 8 * method.items.size() + 8 * method.doubles.size() + 4 * method.args.size();
    bytes += method.name.size() + method.in_spec.size() + method.out_spec.size();
    for (const std::string& text : method.strings) bytes += text.size();
    for (const PlanTensor& tensor : method.tensors) bytes += tensor.name.size();
    const StackTraces& traces = method.stack_traces;
    entries += traces.frames.size() + traces.traces.size();
    bytes += 4 * traces.of_instructions.size();
    for (const auto& trace : traces.traces) bytes += 4 * trace.size();
    for (const PlanFrame& frame : traces.frames)
      bytes += frame.file.size() + frame.function.size() + frame.text.size();
    for (const PlanDelegate& delegate : method.delegates) {
      entries += 2 + delegate.compile_specs.size();
      for (const auto& [key, value] : delegate.compile_specs) bytes += key.size() + value.size();
    }
  }
  return bytes + entries * max_entry_bytes;
}

class ProgramBuilder {
 public:
  ProgramBuilder(const Plan& plan, const SegmentLayout& layout) : plan_(plan), layout_(layout) {}

  flatbuffers::DetachedBuffer run() {
    std::vector<Offset<et12::ExecutionPlan>> methods;
    for (const ExecutionPlan& method : plan_.methods) methods.push_back(build_method(method));
    auto methods_vector = builder_.CreateVector(methods);
    auto inline_data = build_inline_data();
    auto segments = build_segments();
    auto constant_segment = build_offsets(0, plan_.constants.size());
    Offset<Vector<Offset<et12::SubsegmentOffsets>>> state;
    if (layout_.state_segment != 0) {
      auto initial = build_offsets(layout_.state_segment, plan_.initial_values.size());
      state = builder_.CreateVector(&initial, 1);
    }
    std::vector<Offset<et12::NamedData>> named;
    for (const auto& [key, segment] : layout_.named_data) {
      named.push_back(et12::CreateNamedData(builder_, builder_.CreateString(key), segment));
    }
    auto named_vector = named.empty() ? 0 : builder_.CreateVector(named);
    et12::ProgramBuilder program(builder_);
    program.add_execution_plan(methods_vector);
    program.add_backend_delegate_data(inline_data);
    program.add_segments(segments);
    program.add_constant_segment(constant_segment);
    if (layout_.state_segment != 0) program.add_mutable_data_segments(state);
    if (!named.empty()) program.add_named_data(named_vector);
    builder_.Finish(program.Finish(), et12::ProgramIdentifier());
    return builder_.Release();
  }

 private:
  using DelegateDataVector = Vector<Offset<et12::BackendDelegateInlineData>>;

  // Present even if it is empty: ExecuTorch's own tools count its elements.
  Offset<DelegateDataVector> build_inline_data() {
    std::vector<Offset<et12::BackendDelegateInlineData>> blobs;
    for (const auto& storage : layout_.inline_blobs) {
      std::vector<std::byte> made;
      if (storage != nullptr && storage->is_lazy()) made = storage->produce();
      auto bytes = storage == nullptr   ? std::span<const std::byte>()
                   : storage->is_lazy() ? std::span<const std::byte>(made)
                                        : storage->bytes();
      builder_.PreAlign(bytes.size(), layout_.inline_alignment);
      blobs.push_back(et12::CreateBackendDelegateInlineData(
          builder_,
          builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size())));
    }
    return builder_.CreateVector(blobs);
  }

  // Writes offsets and sizes of 0 (not omitted as defaults), to be set later.
  Offset<Vector<Offset<et12::DataSegment>>> build_segments() {
    builder_.ForceDefaults(true);
    std::vector<Offset<et12::DataSegment>> segments;
    for (std::uint32_t i = 0; i < layout_.segment_count; ++i) {
      segments.push_back(et12::CreateDataSegment(builder_, 0, 0));
    }
    builder_.ForceDefaults(false);
    return builder_.CreateVector(segments);
  }

  // Writes offsets for `count` tensors of a segment, to be set later; entry 0 means "no tensor".
  Offset<et12::SubsegmentOffsets> build_offsets(std::uint32_t segment, std::size_t count) {
    std::vector<std::uint64_t> offsets(count + 1, 0);
    return et12::CreateSubsegmentOffsets(builder_, segment, builder_.CreateVector(offsets));
  }

  Offset<et12::ExecutionPlan> build_method(const ExecutionPlan& method) {
    auto name = builder_.CreateString(method.name);
    Offset<et12::ContainerMetadata> container;
    if (!method.in_spec.empty() || !method.out_spec.empty()) {
      auto out_spec = builder_.CreateString(method.out_spec), in_spec = builder_.CreateString(method.in_spec);
      container = et12::CreateContainerMetadata(builder_, in_spec, out_spec);
    }
    auto values = build_values(method);
    auto inputs = builder_.CreateVector(method.inputs);
    auto outputs = builder_.CreateVector(method.outputs);
    auto chains = build_chain(method);
    std::vector<Offset<et12::Operator>> operators;
    for (const PlanOperator& op : method.operators) {
      auto overload = builder_.CreateSharedString(op.overload), base = builder_.CreateSharedString(op.name);
      operators.push_back(et12::CreateOperator(builder_, base, overload));
    }
    auto operators_vector = builder_.CreateVector(operators);
    auto delegates = build_delegates(method);
    auto sizes = builder_.CreateVector(method.memory_sizes);
    std::vector<Offset<et12::NonConstBufferDevice>> devices;
    for (const auto& [memory, device] : method.memory_devices) {
      devices.push_back(et12::CreateNonConstBufferDevice(builder_, static_cast<std::int32_t>(memory),
                                                         static_cast<et12::DeviceType>(device.type),
                                                         device.index));
    }
    const auto devices_vector = devices.empty() ? 0 : builder_.CreateVector(devices);
    return et12::CreateExecutionPlan(builder_, name, container, values, inputs, outputs, chains,
                                     operators_vector, delegates, sizes, devices_vector);
  }

  Offset<Vector<Offset<et12::EValue>>> build_values(const ExecutionPlan& method) {
    std::vector<Offset<et12::EValue>> values;
    values.reserve(method.values.size());
    for (const EValue& value : method.values) values.push_back(build_value(method, value));
    return builder_.CreateVector(values);
  }

  Offset<et12::EValue> build_value(const ExecutionPlan& method, const EValue& value) {
    auto type = static_cast<et12::KernelTypes>(value.kind);
    return et12::CreateEValue(builder_, type, build_payload(method, value));
  }

  Offset<void> build_payload(const ExecutionPlan& method, const EValue& value) {
    auto items = method.list_items_if_any(value);
    switch (value.kind) {
      case EValue::Kind::Null:
        return et12::CreateNull(builder_).Union();
      case EValue::Kind::Int:
        return et12::CreateInt(builder_, value.int_value).Union();
      case EValue::Kind::Bool:
        return et12::CreateBool(builder_, value.int_value != 0).Union();
      case EValue::Kind::Double:
        return et12::CreateDouble(builder_, value.double_value).Union();
      case EValue::Kind::Tensor:
        return build_tensor(method.tensors[value.first]).Union();
      case EValue::Kind::String:
        return et12::CreateString(builder_, builder_.CreateString(method.strings[value.first])).Union();
      case EValue::Kind::IntList:
        return et12::CreateIntList(builder_, builder_.CreateVector(items.data(), items.size())).Union();
      case EValue::Kind::DoubleList: {
        auto doubles = method.list_doubles(value);
        return et12::CreateDoubleList(builder_, builder_.CreateVector(doubles.data(), doubles.size()))
            .Union();
      }
      case EValue::Kind::BoolList: {
        std::vector<std::uint8_t> bools(items.begin(), items.end());
        return et12::CreateBoolList(builder_, builder_.CreateVector(bools)).Union();
      }
      case EValue::Kind::TensorList: {
        std::vector<std::int32_t> tensors(items.begin(), items.end());
        return et12::CreateTensorList(builder_, builder_.CreateVector(tensors)).Union();
      }
      case EValue::Kind::OptionalTensorList: {
        std::vector<std::int32_t> tensors(items.begin(), items.end());
        return et12::CreateOptionalTensorList(builder_, builder_.CreateVector(tensors)).Union();
      }
    }
    return 0;
  }

  Offset<et12::Tensor> build_tensor(const PlanTensor& tensor) {
    auto sizes = shared_vector(sizes_, tensor.sizes.data(), tensor.sizes.size());
    auto order = shared_vector(orders_, tensor.dim_order.data(), tensor.dim_order.size());
    Offset<et12::AllocationDetails> allocation;
    if (tensor.memory_id != 0) {
      allocation = et12::CreateAllocationDetails(builder_, tensor.memory_id,
                                                 static_cast<std::uint32_t>(tensor.memory_offset),
                                                 static_cast<std::uint32_t>(tensor.memory_offset >> 32));
    }
    Offset<et12::ExtraTensorInfo> extra;
    if (!tensor.name.empty() || tensor.device != PlanDevice()) {
      auto location =
          tensor.is_external ? et12::TensorDataLocation::External : et12::TensorDataLocation::Segment;
      Offset<flatbuffers::String> name;
      if (!tensor.name.empty()) name = builder_.CreateSharedString(tensor.name);
      extra =
          et12::CreateExtraTensorInfo(builder_, 0, name, location,
                                      static_cast<et12::DeviceType>(tensor.device.type), tensor.device.index);
    }
    auto dynamism = static_cast<et12::TensorShapeDynamism>(tensor.dynamism);
    return et12::CreateTensor(builder_, static_cast<std::int8_t>(tensor.scalar_type), 0, sizes, order, false,
                              tensor.constant, allocation, 0, dynamism, extra);
  }

  // Writes a vector once for all tensors with equal content (sizes, for instance).
  template <typename T>
  Offset<Vector<T>> shared_vector(std::unordered_map<std::string, Offset<Vector<T>>>& known, const T* data,
                                  std::size_t count) {
    std::string key(reinterpret_cast<const char*>(data), count * sizeof(T));
    auto [entry, is_new] = known.try_emplace(std::move(key));
    if (is_new) entry->second = builder_.CreateVector(data, count);
    return entry->second;
  }

  Offset<Vector<Offset<et12::Chain>>> build_chain(const ExecutionPlan& method) {
    std::vector<Offset<et12::Instruction>> instructions;
    instructions.reserve(method.instructions.size());
    for (const Instruction& instruction : method.instructions) {
      auto type = static_cast<et12::InstructionArguments>(instruction.kind);
      instructions.push_back(et12::CreateInstruction(builder_, type, build_arguments(method, instruction)));
    }
    auto traces = build_stack_traces(method.stack_traces);
    auto instructions_vector = builder_.CreateVector(instructions);
    auto outputs = builder_.CreateVector(method.outputs), inputs = builder_.CreateVector(method.inputs);
    auto chain = et12::CreateChain(builder_, inputs, outputs, instructions_vector, traces);
    return builder_.CreateVector(&chain, 1);
  }

  Offset<Vector<Offset<et12::FrameList>>> build_stack_traces(const StackTraces& traces) {
    if (traces.of_instructions.empty()) return 0;
    std::vector<Offset<et12::Frame>> frames;
    for (const PlanFrame& frame : traces.frames) {
      auto file = builder_.CreateSharedString(frame.file);
      auto function = builder_.CreateSharedString(frame.function);
      auto text = builder_.CreateSharedString(frame.text);
      frames.push_back(et12::CreateFrame(builder_, file, frame.line, function, text));
    }
    std::vector<Offset<et12::FrameList>> lists;
    for (const std::vector<std::uint32_t>& trace : traces.traces) {
      std::vector<Offset<et12::Frame>> rows;
      for (const std::uint32_t frame : trace) rows.push_back(frames[frame]);
      lists.push_back(et12::CreateFrameList(builder_, builder_.CreateVector(rows)));
    }
    std::vector<Offset<et12::FrameList>> of_instructions;
    for (const std::uint32_t trace : traces.of_instructions) of_instructions.push_back(lists[trace]);
    return builder_.CreateVector(of_instructions);
  }

  Offset<void> build_arguments(const ExecutionPlan& method, const Instruction& instruction) {
    auto args = method.args_of(instruction);
    switch (instruction.kind) {
      case Instruction::Kind::KernelCall:
        return et12::CreateKernelCall(builder_, instruction.index,
                                      builder_.CreateVector(args.data(), args.size()))
            .Union();
      case Instruction::Kind::DelegateCall:
        return et12::CreateDelegateCall(builder_, instruction.index,
                                        builder_.CreateVector(args.data(), args.size()))
            .Union();
      case Instruction::Kind::MoveCall:
        return et12::CreateMoveCall(builder_, instruction.index, instruction.target).Union();
      case Instruction::Kind::JumpFalseCall:
        return et12::CreateJumpFalseCall(builder_, instruction.index, instruction.target).Union();
      case Instruction::Kind::FreeCall:
        return et12::CreateFreeCall(builder_, instruction.index).Union();
    }
    return 0;
  }

  Offset<Vector<Offset<et12::BackendDelegate>>> build_delegates(const ExecutionPlan& method) {
    std::vector<Offset<et12::BackendDelegate>> delegates;
    for (const PlanDelegate& delegate : method.delegates) {
      std::vector<Offset<et12::CompileSpec>> specs;
      for (const auto& [key, value] : delegate.compile_specs) {
        auto bytes = builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(value.data()), value.size());
        specs.push_back(et12::CreateCompileSpec(builder_, builder_.CreateString(key), bytes));
      }
      const SegmentLayout::DelegateData& data = layout_.delegates[delegate.index];
      auto location = data.is_inline ? et12::DataLocation::Inline : et12::DataLocation::Segment;
      auto processed = et12::CreateBackendDelegateDataReference(builder_, location, data.index);
      auto specs_vector = builder_.CreateVector(specs);
      auto id = builder_.CreateString(delegate.backend_id);
      delegates.push_back(et12::CreateBackendDelegate(builder_, id, processed, specs_vector));
    }
    return builder_.CreateVector(delegates);
  }

  const Plan& plan_;
  const SegmentLayout& layout_;
  flatbuffers::FlatBufferBuilder builder_;
  std::unordered_map<std::string, Offset<Vector<std::int32_t>>> sizes_;
  std::unordered_map<std::string, Offset<Vector<std::uint8_t>>> orders_;
};

}  // namespace

Result<flatbuffers::DetachedBuffer> build_program_flatbuffer(const Plan& plan, const SegmentLayout& layout) {
  std::uint64_t bound = size_bound(plan, layout);
  if (bound > max_flatbuffer_bytes) {
    return failure("write_pte", "",
                   fmt::format("the plan may need {} bytes, but the flatbuffer of a .pte is limited to {}",
                               bound, max_flatbuffer_bytes),
                   "lower the methods to separate files");
  }
  return ProgramBuilder(plan, layout).run();
}

std::uint64_t count_tables(const Plan& plan, const SegmentLayout& layout) {
  std::uint64_t tables = 3 + layout.segment_count + layout.inline_blobs.size() + layout.named_data.size();
  for (const ExecutionPlan& method : plan.methods) {
    tables += 3 + 2 * method.values.size() + 2 * method.instructions.size() + method.operators.size();
    for (const PlanTensor& tensor : method.tensors) {
      tables += (tensor.memory_id != 0 ? 1 : 0) + (tensor.name.empty() ? 0 : 1);
    }
    for (const PlanDelegate& delegate : method.delegates) tables += 2 + delegate.compile_specs.size();
    for (const std::uint32_t trace : method.stack_traces.of_instructions)
      tables += 1 + method.stack_traces.traces[trace].size();
  }
  return tables;
}

}  // namespace depute
