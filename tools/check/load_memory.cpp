// Repeats the allocations of the runtime's Method::init in their order (ExecuTorch, runtime/executor/method.cpp and
// tensor_parser*.cpp), with the sizes of its classes as the versions have them (runtimes.txt).
//
//   aten::add.out(0, 1, 2, 3)   method allocator: 4 pointers to values
//                               temporary allocator: 4 TensorMeta, dimension orders; then it is emptied
#include "depute/tools/load_memory.h"

#include <algorithm>

#include "plan/plan_text.h"
#include "support/guarded.h"
#include "support/try.h"
#include "tools/bundle/program_part.h"
#include "tools/check/check.h"
#include "tools/check/method_memory.h"

namespace depute {
namespace {

class Allocator {
 public:
  void take(ClassSize of, std::uint64_t count = 1) {
    used_ = (used_ + of.alignment - 1) / of.alignment * of.alignment + of.size * count;
    most_ = std::max(most_, used_);
  }
  void reset() { used_ = 0; }
  std::uint64_t most() const { return most_; }

 private:
  std::uint64_t used_ = 0;
  std::uint64_t most_ = 0;
};

bool is_external_constant(const PlanTensor& tensor) {
  return tensor.is_external && tensor.memory_id == 0;
}

class MethodLoader {
 public:
  MethodLoader(const ExecutionPlan& method, const RuntimeClasses& classes, bool has_temporary)
      : method_(method), classes_(classes), has_temporary_(has_temporary) {}

  void load(DataMaps maps, const std::map<std::string, ClassSize, std::less<>>& delegates);
  const Allocator& tables() const { return tables_; }
  const Allocator& temporary() const { return temporary_; }

 private:
  void values();
  void value(const EValue& value);
  void tensor(const PlanTensor& tensor);
  void instructions();
  void look_up(const Instruction& call);

  const ExecutionPlan& method_;
  const RuntimeClasses& classes_;
  bool has_temporary_;
  Allocator tables_;
  Allocator temporary_;
};

void MethodLoader::load(DataMaps maps, const std::map<std::string, ClassSize, std::less<>>& delegates) {
  if (!has_temporary_) tables_.take(classes_.platform_allocator);
  values();
  tables_.take(classes_.delegate, method_.delegates.size());
  if (maps.in_program && maps.in_files) tables_.take(classes_.merged_data_map);
  for (const PlanDelegate& delegate : method_.delegates) {
    tables_.take(classes_.compile_spec, delegate.compile_specs.size());
    const auto known = delegates.find(delegate.backend_id);
    if (known != delegates.end()) tables_.take(known->second);
  }
  instructions();
}

void MethodLoader::values() {
  tables_.take(classes_.evalue, method_.values.size());
  if (!method_.inputs.empty()) tables_.take({.size = 1, .alignment = 1}, method_.inputs.size());
  const auto external = std::ranges::count_if(method_.values, [&](const EValue& value) {
    return value.kind == EValue::Kind::Tensor && is_external_constant(method_.tensors[value.first]);
  });
  if (external > 0) tables_.take(classes_.named_data, static_cast<std::uint64_t>(external));
  for (const EValue& each : method_.values) value(each);
}

void MethodLoader::value(const EValue& value) {
  switch (value.kind) {
    case EValue::Kind::Null:
    case EValue::Kind::Int:
    case EValue::Kind::Bool:
    case EValue::Kind::Double:
      return;
    case EValue::Kind::Tensor:
      return tensor(method_.tensors[value.first]);
    case EValue::Kind::String:
    case EValue::Kind::DoubleList:
    case EValue::Kind::BoolList:
      return tables_.take(classes_.array);
    case EValue::Kind::IntList:
      tables_.take(classes_.pointer, value.count);
      tables_.take(classes_.integer, value.count);
      break;
    case EValue::Kind::TensorList:
      tables_.take(classes_.tensor_reference, value.count);
      tables_.take(classes_.pointer, value.count);
      break;
    case EValue::Kind::OptionalTensorList:
      tables_.take(classes_.pointer, value.count);
      tables_.take(classes_.optional_tensor, value.count);
      break;
  }
  tables_.take(classes_.boxed_list);
}

void MethodLoader::tensor(const PlanTensor& tensor) {
  if (tensor.dynamism != ShapeDynamism::Static) {
    tables_.take(classes_.tensor_size, tensor.sizes.size());
    tables_.take(classes_.dim_order, tensor.sizes.size());
  }
  tables_.take(classes_.stride, tensor.sizes.size());
  tables_.take(classes_.tensor_impl);
}

void MethodLoader::instructions() {
  tables_.take(classes_.chain);  // a method of Depute's has one
  tables_.take(classes_.kernel, method_.instructions.size());
  tables_.take(classes_.arguments, method_.instructions.size());
  for (const Instruction& instruction : method_.instructions) {
    const bool is_kernel = instruction.kind == Instruction::Kind::KernelCall;
    if (!is_kernel && instruction.kind != Instruction::Kind::DelegateCall) continue;
    tables_.take(classes_.pointer, instruction.arg_count);
    if (is_kernel) look_up(instruction);
  }
}

void MethodLoader::look_up(const Instruction& call) {
  Allocator& allocator = has_temporary_ ? temporary_ : tables_;
  allocator.take(classes_.tensor_meta, call.arg_count);
  for (const std::int32_t index : method_.args_of(call)) {
    const EValue& value = method_.values[static_cast<std::size_t>(index)];
    if (value.kind == EValue::Kind::Tensor)
      allocator.take(classes_.dim_order, method_.tensors[value.first].sizes.size());
  }
  temporary_.reset();
  if (has_temporary_) temporary_.take(classes_.lookup_argument, call.arg_count);
  temporary_.reset();
}

std::uint64_t output_bytes(const ExecutionPlan& method) {
  std::uint64_t bytes = 0;
  for (const std::int32_t index : method.outputs) {
    const EValue& value = method.values[static_cast<std::size_t>(index)];
    if (value.kind != EValue::Kind::Tensor) continue;
    const PlanTensor& tensor = method.tensors[value.first];
    if (tensor.memory_id == 0 && tensor.constant == 0 && !tensor.is_external)
      bytes += byte_size(tensor).value_or(0);
  }
  return bytes;
}

std::vector<std::string> unknown_backends(const ExecutionPlan& method, const RuntimeClasses& classes) {
  std::vector<std::string> unknown;
  for (const PlanDelegate& delegate : method.delegates) {
    const std::string& id = delegate.backend_id;
    if (!classes.delegates.contains(id) && std::ranges::find(unknown, id) == unknown.end())
      unknown.push_back(id);
  }
  return unknown;
}

LoadMemory memory_of(const ExecutionPlan& method, const RuntimeClasses& classes, DataMaps maps) {
  MethodLoader with_temporary(method, classes, true);
  with_temporary.load(maps, classes.delegates);
  MethodLoader alone(method, classes, false);
  alone.load(maps, classes.delegates);
  LoadMemory memory{.method = method.name,
                    .bits = classes.bits,
                    .tables = with_temporary.tables().most(),
                    .temporary = with_temporary.temporary().most(),
                    .alone = alone.tables().most(),
                    .outputs = output_bytes(method),
                    .unknown_backends = unknown_backends(method, classes)};
  for (std::size_t id = 1; id < method.memory_sizes.size(); ++id)
    memory.arenas.push_back(static_cast<std::uint64_t>(method.memory_sizes[id]));
  for (const std::uint64_t size : memory.arenas) memory.planned += size;
  return memory;
}

}  // namespace

std::vector<LoadMemory> method_memory(const ExecutionPlan& method, DataMaps maps) {
  std::vector<LoadMemory> results;
  for (const RuntimeTable& runtime : known_classes()) {
    for (const RuntimeClasses& classes : runtime.classes) {
      const LoadMemory memory = memory_of(method, classes, maps);
      const auto is_same = [&](const LoadMemory& known) {
        LoadMemory other = known;
        other.runtimes = {};
        return other == memory;
      };
      auto found = std::ranges::find_if(results, is_same);
      if (found == results.end()) found = results.insert(found, memory);
      found->runtimes.push_back(runtime.name);
    }
  }
  return results;
}

std::vector<LoadMemory> program_memory(const PteContents& program) {
  DataMaps maps{.in_program = !program.named_data.empty()};
  for (const ExecutionPlan& method : program.methods)
    maps.in_files |= std::ranges::any_of(method.tensors, &PlanTensor::is_external);
  std::vector<LoadMemory> results;
  for (const ExecutionPlan& method : program.methods)
    std::ranges::move(method_memory(method, maps), std::back_inserter(results));
  return results;
}

Result<std::vector<LoadMemory>> load_memory(std::span<const std::byte> file, std::string_view name) {
  return guarded([&]() -> Result<std::vector<LoadMemory>> {
    TRY(const std::span<const std::byte> bytes, program_part(file, std::string(name)));
    TRY(const PteContents program, read_pte(bytes, std::string(name)));
    return program_memory(program);
  });
}

void fields(FieldWriter& visit, const LoadMemory& memory) {
  visit("method", memory.method, "runtimes", memory.runtimes, "bits", memory.bits, "tables", memory.tables,
        "temporary", memory.temporary, "alone", memory.alone, "planned", memory.planned, "arenas",
        memory.arenas, "outputs", memory.outputs, "unknown_backends", memory.unknown_backends);
}

}  // namespace depute
