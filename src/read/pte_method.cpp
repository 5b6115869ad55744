#include "read/pte_method.h"
#include "support/try.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace depute::internal {
namespace {

constexpr std::size_t max_pte_rank = 16;  // the runtime's own limit

class MethodReader {
 public:
  MethodReader(const et12::ExecutionPlan& table, MethodLimits& limits) : table_(table), limits_(limits) {}

  Result<ExecutionPlan> run() {
    TRY_STATUS(read_names());
    for (std::int64_t size : elements(table_.non_const_buffer_sizes())) plan_.memory_sizes.push_back(size);
    TRY_STATUS(read_memory_devices());
    for (const auto* value : elements(table_.values())) {
      if (Status status = read_value(*value); !status) {
        status.error().where = fmt::format(".values[{}]{}", plan_.values.size(), status.error().where);
        return Failure(std::move(status).error());
      }
    }
    TRY_STATUS(check_lists());
    TRY_STATUS(read_indices(".inputs", table_.inputs(), plan_.inputs));
    TRY_STATUS(read_indices(".outputs", table_.outputs(), plan_.outputs));
    TRY_STATUS(read_operators());
    TRY_STATUS(read_delegates());
    for (const auto* chain : elements(table_.chains())) {
      for (const auto* instruction : elements(chain->instructions())) {
        if (Status status = read_instruction(*instruction); !status) {
          status.error().where = fmt::format(".instructions[{}]", plan_.instructions.size());
          return Failure(std::move(status).error());
        }
      }
      TRY_STATUS(read_stack_traces(*chain));
    }
    return std::move(plan_);
  }

 private:
  static Failure fail(std::string_view place, std::string_view message) {
    return failure("read_pte", place, message);
  }

  // Counts elements to be copied against the file's size.
  Status take(std::uint64_t count) {
    if (count > limits_.elements) return fail("", "its lists exceed the file's size");
    limits_.elements -= count;
    return {};
  }

  Result<std::string> text(const flatbuffers::String* string, std::string_view place) {
    if (string == nullptr) return fail(place, "is missing");
    TRY_STATUS(take(string->size()));
    return string->str();
  }

  Status read_memory_devices() {
    for (const auto* entry : elements(table_.non_const_buffer_device())) {
      const std::int64_t memory = entry->buffer_idx();
      if (memory <= 0 || memory >= static_cast<std::int64_t>(plan_.memory_sizes.size()))
        return fail(".non_const_buffer_device",
                    fmt::format("memory {} of {}", memory, plan_.memory_sizes.size()));
      plan_.memory_devices[static_cast<std::uint32_t>(memory)] = device_of(*entry);
    }
    return {};
  }

  template <typename Table>
  static PlanDevice device_of(const Table& table) {
    return {static_cast<std::uint8_t>(table.device_type()), table.device_index()};
  }

  Status read_names() {
    TRY(plan_.name, text(table_.name(), ".name"));
    const auto* container = table_.container_meta_type();
    if (container == nullptr) return {};
    if (container->encoded_inp_str() != nullptr) {
      TRY(plan_.in_spec, text(container->encoded_inp_str(), ".container_meta_type"));
    }
    if (container->encoded_out_str() != nullptr) {
      TRY(plan_.out_spec, text(container->encoded_out_str(), ".container_meta_type"));
    }
    return {};
  }

  template <typename T>
  Status add_items(EValue& value, const flatbuffers::Vector<T>* items) {
    value.first = static_cast<std::uint32_t>(plan_.items.size());
    if (items == nullptr) return {};
    TRY_STATUS(take(items->size()));
    value.count = items->size();
    for (T item : elements(items)) plan_.items.push_back(item);
    return {};
  }

  Status read_value(const et12::EValue& table) {
    auto type = static_cast<std::uint8_t>(table.val_type());
    if (type < 1 || type > 11) return fail("", fmt::format("has the unknown kind {}", type));
    EValue value{.kind = static_cast<EValue::Kind>(type)};
    if (value.kind != EValue::Kind::Null && table.val() == nullptr) return fail("", "has no content");
    switch (value.kind) {
      case EValue::Kind::Null:
        break;
      case EValue::Kind::Int:
        value.int_value = table.val_as_Int()->value();
        break;
      case EValue::Kind::Bool:
        value.int_value = table.val_as_Bool()->value();
        break;
      case EValue::Kind::Double:
        value.double_value = table.val_as_Double()->value();
        break;
      case EValue::Kind::Tensor:
        value.first = static_cast<std::uint32_t>(plan_.tensors.size());
        TRY_STATUS(read_tensor(*table.val_as_Tensor()));
        break;
      case EValue::Kind::String: {
        value.first = static_cast<std::uint32_t>(plan_.strings.size());
        TRY(std::string string, text(table.val_as_String()->value(), ""));
        plan_.strings.push_back(std::move(string));
        break;
      }
      case EValue::Kind::IntList:
        TRY_STATUS(add_items(value, table.val_as_IntList()->items()));
        break;
      case EValue::Kind::BoolList:
        TRY_STATUS(add_items(value, table.val_as_BoolList()->items()));
        break;
      case EValue::Kind::TensorList:
        TRY_STATUS(add_items(value, table.val_as_TensorList()->items()));
        break;
      case EValue::Kind::OptionalTensorList:
        TRY_STATUS(add_items(value, table.val_as_OptionalTensorList()->items()));
        break;
      case EValue::Kind::DoubleList:
        TRY_STATUS(add_doubles(value, table.val_as_DoubleList()->items()));
        break;
    }
    plan_.values.push_back(value);
    return {};
  }

  Status add_doubles(EValue& value, const flatbuffers::Vector<double>* items) {
    value.first = static_cast<std::uint32_t>(plan_.doubles.size());
    if (items == nullptr) return {};
    TRY_STATUS(take(items->size()));
    value.count = items->size();
    for (double item : elements(items)) plan_.doubles.push_back(item);
    return {};
  }

  Status read_tensor(const et12::Tensor& table) {
    PlanTensor tensor;
    tensor.scalar_type = table.scalar_type();
    auto dynamism = static_cast<std::uint8_t>(table.shape_dynamism());
    if (dynamism > 2) return fail("", fmt::format("shape dynamism {}", dynamism));
    tensor.dynamism = static_cast<ShapeDynamism>(dynamism);
    std::size_t rank = table.sizes() == nullptr ? 0 : table.sizes()->size();
    std::size_t order = table.dim_order() == nullptr ? 0 : table.dim_order()->size();
    if (rank > max_pte_rank || order != rank)
      return fail("", fmt::format("rank {}, dim order {}", rank, order));
    for (std::int32_t size : elements(table.sizes())) {
      if (size < 0) return fail("", fmt::format("size {}", size));
      tensor.sizes.push_back(size);
    }
    for (std::uint8_t dim : elements(table.dim_order())) {
      if (dim >= rank) return fail("", fmt::format("dim order with {} in rank {}", dim, rank));
      tensor.dim_order.push_back(dim);
    }
    tensor.constant = table.data_buffer_idx();
    if (const auto* extra = table.extra_tensor_info()) {
      tensor.is_external = extra->location() == et12::TensorDataLocation::External;
      tensor.device = device_of(*extra);
      if (extra->fully_qualified_name() != nullptr) {
        TRY(tensor.name, text(extra->fully_qualified_name(), ""));
      }
    }
    if (!tensor.is_external && tensor.constant != 0 && tensor.constant >= limits_.constants) {
      return fail("", fmt::format("constant {} of {}", tensor.constant, limits_.constants));
    }
    if (const auto* allocation = table.allocation_info()) {
      tensor.memory_id = allocation->memory_id();
      tensor.memory_offset =
          std::uint64_t{allocation->memory_offset_high()} << 32 | allocation->memory_offset_low();
      if (tensor.memory_id == 0 || tensor.memory_id >= plan_.memory_sizes.size()) {
        return fail("", fmt::format("memory {} of {}", tensor.memory_id, plan_.memory_sizes.size()));
      }
    }
    plan_.tensors.push_back(std::move(tensor));
    return {};
  }

  bool is_value(std::int64_t index) const {
    return index >= 0 && index < static_cast<std::int64_t>(plan_.values.size());
  }

  // Checks that elements of lists are values of the right kind; elements of tensor lists must precede the
  // list.
  Status check_lists() const {
    for (std::size_t i = 0; i < plan_.values.size(); ++i) {
      const EValue& value = plan_.values[i];
      bool is_ints = value.kind == EValue::Kind::IntList;
      bool is_optional = value.kind == EValue::Kind::OptionalTensorList;
      if (!is_ints && !is_optional && value.kind != EValue::Kind::TensorList) continue;
      EValue::Kind wanted = is_ints ? EValue::Kind::Int : EValue::Kind::Tensor;
      for (std::int64_t item : plan_.list_items(value)) {
        if (is_optional && item == -1) continue;
        bool is_known = is_value(item) && (is_ints || item < static_cast<std::int64_t>(i));
        if (!is_known || plan_.values[static_cast<std::size_t>(item)].kind != wanted) {
          return fail(fmt::format(".values[{}]", i), fmt::format("has the element {}", item));
        }
      }
    }
    return {};
  }

  Status read_indices(std::string_view place, const flatbuffers::Vector<std::int32_t>* indices,
                      std::vector<std::int32_t>& result) {
    if (indices == nullptr) return fail(place, "is missing");
    TRY_STATUS(take(indices->size()));
    for (std::int32_t index : elements(indices)) {
      if (!is_value(index)) return fail(place, fmt::format("value {} of {}", index, plan_.values.size()));
      result.push_back(index);
    }
    return {};
  }

  Status read_operators() {
    for (const auto* op : elements(table_.operators())) {
      std::string place = fmt::format(".operators[{}]", plan_.operators.size());
      PlanOperator result;
      TRY(result.name, text(op->name(), place));
      if (op->overload() != nullptr) {
        TRY(result.overload, text(op->overload(), place));
      }
      plan_.operators.push_back(std::move(result));
    }
    return {};
  }

  Status read_delegates() {
    for (const auto* table : elements(table_.delegates())) {
      std::string place = fmt::format(".delegates[{}]", plan_.delegates.size());
      PlanDelegate delegate;
      TRY(delegate.backend_id, text(table->id(), place));
      if (table->processed() == nullptr) return fail(place, "has no data");
      delegate.is_inline = table->processed()->location() == et12::DataLocation::Inline;
      delegate.index = table->processed()->index();
      if (delegate.index >= (delegate.is_inline ? limits_.inline_blobs : limits_.segments)) {
        return fail(place, fmt::format("data {} do not exist", delegate.index));
      }
      for (const auto* spec : elements(table->compile_specs())) {
        TRY(std::string key, text(spec->key(), place));
        std::vector<std::byte> bytes;
        TRY_STATUS(take(spec->value() == nullptr ? 0 : spec->value()->size()));
        for (std::uint8_t byte : elements(spec->value())) bytes.push_back(std::byte{byte});
        delegate.compile_specs.emplace_back(std::move(key), std::move(bytes));
      }
      plan_.delegates.push_back(std::move(delegate));
    }
    return {};
  }

  Status add_call(Instruction& instruction, std::int32_t index, std::size_t count,
                  const flatbuffers::Vector<std::int32_t>* args) {
    if (index < 0 || static_cast<std::size_t>(index) >= count)
      return fail("", fmt::format("calls {} of {}", index, count));
    instruction.index = index;
    instruction.first_arg = static_cast<std::uint32_t>(plan_.args.size());
    TRY_STATUS(read_indices("", args, plan_.args));
    instruction.arg_count = static_cast<std::uint32_t>(plan_.args.size() - instruction.first_arg);
    return {};
  }

  Status add_values(Instruction& instruction, std::int32_t index) {
    if (!is_value(index)) return fail("", fmt::format("value {} of {}", index, plan_.values.size()));
    instruction.index = index;
    return {};
  }

  Status read_instruction(const et12::Instruction& table) {
    auto type = static_cast<std::uint8_t>(table.instr_args_type());
    if (type < 1 || type > 5 || table.instr_args() == nullptr) return fail("", "has an unknown kind");
    Instruction instruction{.kind = static_cast<Instruction::Kind>(type)};
    switch (instruction.kind) {
      case Instruction::Kind::KernelCall: {
        const auto* call = table.instr_args_as_KernelCall();
        TRY_STATUS(add_call(instruction, call->op_index(), plan_.operators.size(), call->args()));
        break;
      }
      case Instruction::Kind::DelegateCall: {
        const auto* call = table.instr_args_as_DelegateCall();
        TRY_STATUS(add_call(instruction, call->delegate_index(), plan_.delegates.size(), call->args()));
        break;
      }
      case Instruction::Kind::MoveCall: {
        const auto* move = table.instr_args_as_MoveCall();
        TRY_STATUS(add_values(instruction, move->move_to()));
        instruction.target = instruction.index;
        TRY_STATUS(add_values(instruction, move->move_from()));
        break;
      }
      case Instruction::Kind::JumpFalseCall: {
        const auto* jump = table.instr_args_as_JumpFalseCall();
        TRY_STATUS(add_values(instruction, jump->cond_value_index()));
        instruction.target = jump->destination_instruction();
        break;
      }
      case Instruction::Kind::FreeCall:
        TRY_STATUS(add_values(instruction, table.instr_args_as_FreeCall()->value_index()));
        break;
    }
    plan_.instructions.push_back(instruction);
    return {};
  }

  // Keeps traces only if each instruction has one: there is no other way to tell which one it belongs to.
  Status read_stack_traces(const et12::Chain& chain) {
    if (chain.stacktrace() == nullptr) return {};
    StackTraces& traces = plan_.stack_traces;
    TRY_STATUS(take(chain.stacktrace()->size()));
    for (const et12::FrameList* list : elements(chain.stacktrace())) {
      auto [known, is_new] = traces_.try_emplace(list, static_cast<std::uint32_t>(traces.traces.size()));
      if (is_new) {
        std::vector<std::uint32_t> trace;
        for (const et12::Frame* frame : elements(list->items())) {
          TRY_STATUS(take(1));
          TRY(const std::uint32_t index, read_frame(*frame));
          trace.push_back(index);
        }
        traces.traces.push_back(std::move(trace));
      }
      traces.of_instructions.push_back(known->second);
    }
    if (traces.of_instructions.size() != plan_.instructions.size()) {
      traces = {};
      traces_.clear();
      frames_.clear();
    }
    return {};
  }

  Result<std::uint32_t> read_frame(const et12::Frame& table) {
    StackTraces& traces = plan_.stack_traces;
    auto [known, is_new] = frames_.try_emplace(&table, static_cast<std::uint32_t>(traces.frames.size()));
    if (!is_new) return known->second;
    const std::uint32_t index = known->second;
    PlanFrame frame{.line = table.lineno()};
    for (auto [string, target] :
         {std::pair(table.filename(), &frame.file), std::pair(table.name(), &frame.function),
          std::pair(table.context(), &frame.text)}) {
      if (string == nullptr) continue;
      TRY(*target, text(string, ".stacktrace"));
    }
    traces.frames.push_back(std::move(frame));
    return index;
  }

  const et12::ExecutionPlan& table_;
  MethodLimits& limits_;
  std::unordered_map<const et12::FrameList*, std::uint32_t> traces_;
  std::unordered_map<const et12::Frame*, std::uint32_t> frames_;
  ExecutionPlan plan_;
};

}  // namespace

Result<ExecutionPlan> read_pte_method(const et12::ExecutionPlan& table, MethodLimits& limits) {
  return MethodReader(table, limits).run();
}

}  // namespace depute::internal
