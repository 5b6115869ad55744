#include "runtime/run_program.h"

#include <dlfcn.h>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <filesystem>

#include "runtime/counting_allocator.h"
#include "runtime/runtime_log.h"
#include "runtime/stand_in_backend.h"
#include "runtime/tensors.h"
#include "support/try.h"

// Exported by the SDK, in none of its headers.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(std::uint32_t count);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

namespace depute {
namespace {

namespace et = executorch::runtime;
namespace fs = std::filesystem;
using executorch::extension::BufferDataLoader;
using executorch::extension::FlatTensorDataMap;
using executorch::extension::MmapDataLoader;
using executorch::extension::TensorPtr;
using MergedDataMap = executorch::extension::merged_data_map::MergedDataMap;
using Clock = std::chrono::steady_clock;

std::uint64_t ns_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

Failure runtime_failure(std::string where, std::string_view what, et::Error error) {
  std::string message = fmt::format("ExecuTorch's runtime {}: {}", what, et::to_string(error));
  const std::string logged = take_logged_errors();
  if (!logged.empty()) message += fmt::format(" ({})", logged);
  return failure("run", std::move(where), message);
}

template <typename T>
Result<T> value_of(et::Result<T> result, const std::string& where, std::string_view what) {
  if (!result.ok()) return runtime_failure(where, what, result.error());
  return std::move(result.get());
}

std::uint64_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::uint64_t peak_process_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  constexpr std::uint64_t kilobyte = 1024;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * kilobyte;
}

Status open_library(const std::string& path, std::string_view what) {
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return {};
  return failure("run", path, fmt::format("{} cannot be loaded: {}", what, dlerror()));
}

// The folder of the SDK's libraries.
fs::path library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&et::runtime_init), &info) == 0) return {};
  return fs::path(info.dli_fname).parent_path();
}

// Loads backends and kernels of the SDK that the program uses: the common ones are linked, others take time.
void load_what_is_used(const ExecutionPlan& method) {
  bool lacks_backend = false;
  bool lacks_kernel = false;
  for (const PlanDelegate& delegate : method.delegates)
    lacks_backend |= et::get_backend_class(delegate.backend_id.c_str()) == nullptr;
  for (const PlanOperator& op : method.operators)
    lacks_kernel |= op.name.starts_with("quantized_decomposed::");
  if (!lacks_backend && !lacks_kernel) return;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(library_folder(), error)) {
    const std::string name = entry.path().filename().string();
    // Qualcomm's needs its SDK, and without it ends the process at payloads that it does not know.
    const bool is_backend =
        name.starts_with("libexecutorch_backend_") && name != "libexecutorch_backend_qnn.so";
    const bool is_wanted =
        (lacks_backend && is_backend) || (lacks_kernel && name == "libexecutorch_kernels_quantized.so");
    // One that does not load lacks its vendor's libraries: the runtime will say that the backend is missing.
    if (is_wanted) (void)dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
}

// The debug buffer of a tracer, which grows. Elements of each value start at a multiple of `alignment`.
class ValueSink final : public executorch::etdump::DataSinkBase {
 public:
  et::Result<std::size_t> write(const void* data, std::size_t size) override {
    constexpr std::size_t alignment = 16;
    const std::size_t offset = (bytes_.size() + alignment - 1) / alignment * alignment;
    bytes_.resize(offset + size);
    if (size > 0) std::memcpy(bytes_.data() + offset, data, size);
    return offset;
  }
  std::size_t get_used_bytes() const override { return bytes_.size(); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// A loaded method with all that it refers to, which is destroyed after it.
class LoadedMethod {
 public:
  // `tracer` outlives the method; null: it is not traced.
  static Result<std::unique_ptr<LoadedMethod>> load(const RunRequest& request, const ExecutionPlan& plan,
                                                    executorch::etdump::ETDumpGen* tracer);

  // Sets the inputs and executes. Returns the time of both.
  Result<std::uint64_t> call(const RunCall& arguments);
  Result<std::vector<RuntimeValue>> outputs();
  RunMemory memory() const;

 private:
  LoadedMethod(const ExecutionPlan& plan, executorch::etdump::ETDumpGen* tracer)
      : plan_(plan), tracer_(tracer) {}
  Status open(const RunRequest& request);
  Status plan_memory(const et::MethodMeta& meta);
  Status provide_outputs(const et::MethodMeta& meta);
  Status provide_state();
  et::EValue input(std::size_t index, const RuntimeValue& argument);

  const ExecutionPlan& plan_;
  executorch::etdump::ETDumpGen* tracer_;
  std::string name_;
  std::optional<BufferDataLoader> loader_;
  std::vector<MmapDataLoader> data_loaders_;
  std::vector<FlatTensorDataMap> data_maps_;
  std::optional<MergedDataMap> merged_data_;
  std::optional<et::Program> program_;
  CountingAllocator method_allocator_;
  CountingAllocator temporary_allocator_;
  std::vector<AlignedMemory> arenas_;
  std::vector<et::Span<std::uint8_t>> spans_;
  std::optional<et::HierarchicalAllocator> planned_;
  std::optional<et::MemoryManager> manager_;
  std::vector<AlignedMemory> output_memory_;
  std::vector<AlignedMemory> state_memory_;
  std::vector<AlignedMemory> input_memory_;
  std::vector<TensorPtr> input_tensors_;
  std::optional<et::Method> method_;
  RunMemory memory_;
};

Result<std::unique_ptr<LoadedMethod>> LoadedMethod::load(const RunRequest& request, const ExecutionPlan& plan,
                                                         executorch::etdump::ETDumpGen* tracer) {
  std::unique_ptr<LoadedMethod> loaded(new LoadedMethod(plan, tracer));
  TRY_STATUS(loaded->open(request));
  return loaded;
}

Result<MmapDataLoader> open_data(const std::string& path) {
  return value_of(MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock), path,
                  "cannot open the file");
}

Status LoadedMethod::open(const RunRequest& request) {
  name_ = request.method;
  loader_.emplace(request.program.data(), request.program.size());
  data_loaders_.reserve(request.data_files.size());
  data_maps_.reserve(request.data_files.size());
  std::vector<const et::NamedDataMap*> maps;
  for (const std::string& path : request.data_files) {
    TRY(MmapDataLoader data, open_data(path));
    data_loaders_.push_back(std::move(data));
    TRY(FlatTensorDataMap map,
        value_of(FlatTensorDataMap::load(&data_loaders_.back()), path, "cannot read the file"));
    data_maps_.push_back(std::move(map));
    maps.push_back(&data_maps_.back());
  }
  if (maps.size() > 1) {
    TRY(MergedDataMap merged, value_of(MergedDataMap::load({maps.data(), maps.size()}),
                                       request.data_files.back(), "cannot join the .ptd files"));
    merged_data_.emplace(std::move(merged));
    maps = {&*merged_data_};
  }
  TRY(et::Program program,
      value_of(et::Program::load(&*loader_, et::Program::Verification::InternalConsistency), request.name,
               "cannot load the program"));
  program_.emplace(std::move(program));
  TRY(const et::MethodMeta meta,
      value_of(program_->method_meta(name_.c_str()), name_, "cannot find the method"));
  TRY_STATUS(plan_memory(meta));
  manager_.emplace(&method_allocator_, &*planned_, &temporary_allocator_);
  const std::uint64_t heap_before = heap_bytes();
  TRY(et::Method method,
      value_of(program_->load_method(name_.c_str(), &*manager_, tracer_, maps.empty() ? nullptr : maps[0]),
               name_, "cannot load the method"));
  method_.emplace(std::move(method));
  const std::uint64_t heap = heap_bytes() - std::min(heap_before, heap_bytes());
  memory_.method = method_allocator_.used_size();
  memory_.loading = heap - std::min<std::uint64_t>(heap, memory_.method);
  TRY_STATUS(provide_state());
  return provide_outputs(meta);
}

// Buffers that the application provides (--alloc-state=no) start as zeros.
Status LoadedMethod::provide_state() {
  for (const PlanTensor& tensor : plan_.tensors) {
    const bool is_provided =
        !tensor.name.empty() && tensor.memory_id == 0 && tensor.constant == 0 && !tensor.is_external;
    if (!is_provided) continue;
    TRY(const executorch::aten::Tensor attribute,
        value_of(method_->get_attribute(tensor.name), tensor.name, "cannot find the buffer"));
    state_memory_.push_back(allocate_aligned(attribute.nbytes()));
    std::memset(state_memory_.back().get(), 0, attribute.nbytes());
    const et::Error error =
        et::internal::set_tensor_data(attribute, state_memory_.back().get(), attribute.nbytes());
    if (error != et::Error::Ok)
      return runtime_failure(fmt::format("buffer {}", tensor.name), "takes no memory", error);
  }
  return {};
}

Status LoadedMethod::plan_memory(const et::MethodMeta& meta) {
  for (std::size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    TRY(const std::int64_t size,
        value_of(meta.memory_planned_buffer_size(i), name_, "cannot tell its memory"));
    arenas_.push_back(allocate_aligned(static_cast<std::size_t>(size)));
    if (arenas_.back() == nullptr)
      return failure("run", name_, fmt::format("there is no memory for the {} bytes that it plans", size));
    std::memset(arenas_.back().get(), 0,
                static_cast<std::size_t>(size));  // state without initial values starts as 0
    spans_.emplace_back(static_cast<std::uint8_t*>(arenas_.back().get()), static_cast<std::size_t>(size));
    memory_.planned += static_cast<std::uint64_t>(size);
  }
  planned_.emplace(et::Span<et::Span<std::uint8_t>>(spans_.data(), spans_.size()));
  return {};
}

Status LoadedMethod::provide_outputs(const et::MethodMeta& meta) {
  for (std::size_t i = 0; i < meta.num_outputs(); ++i) {
    const et::Result<et::TensorInfo> info = meta.output_tensor_meta(i);
    if (!info.ok() || info->is_memory_planned() || !method_->get_output(i).isTensor()) continue;
    if (method_->get_output(i).toTensor().const_data_ptr() != nullptr) continue;  // an input, or a constant
    output_memory_.push_back(allocate_aligned(info->nbytes()));
    memory_.outputs += info->nbytes();
    const et::Error error = method_->set_output_data_ptr(output_memory_.back().get(), info->nbytes(), i);
    if (error != et::Error::Ok)
      return runtime_failure(fmt::format("output {} of {}", i, name_), "takes no memory", error);
  }
  (void)take_logged_errors();  // of outputs that are no tensors
  return {};
}

et::EValue LoadedMethod::input(std::size_t index, const RuntimeValue& argument) {
  if (const auto* number = std::get_if<std::int64_t>(&argument)) return {*number};
  if (const auto* real = std::get_if<double>(&argument)) return {*real};
  if (const auto* truth = std::get_if<bool>(&argument)) return {*truth};
  const auto* given = std::get_if<TensorData>(&argument);
  const EValue& value = plan_.values[static_cast<std::size_t>(plan_.inputs[index])];
  if (given == nullptr || value.kind != EValue::Kind::Tensor) return {};
  const TensorData data = ordered(*given, plan_.tensors[value.first].dim_order);
  const std::span<const std::byte> bytes = data.dense_bytes();
  const PlanTensor& tensor = plan_.tensors[value.first];
  std::vector<executorch::aten::SizesType> sizes;
  for (const SymInt& size : data.type.sizes)
    sizes.push_back(static_cast<executorch::aten::SizesType>(size.value()));
  AlignedMemory memory = allocate_aligned(bytes.size());
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  input_memory_.push_back(std::move(memory));
  input_tensors_.push_back(executorch::extension::make_tensor_ptr(
      std::move(sizes), input_memory_.back().get(), {tensor.dim_order.begin(), tensor.dim_order.end()}, {},
      static_cast<executorch::aten::ScalarType>(tensor.scalar_type)));
  return et::EValue(*input_tensors_.back());
}

Result<std::uint64_t> LoadedMethod::call(const RunCall& arguments) {
  // Inputs of the call before: the runtime may refer to them until its results are read.
  input_tensors_.clear();
  input_memory_.clear();
  std::vector<et::EValue> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    values.push_back(input(i, arguments[i]));
  }
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const et::Error error = method_->set_input(values[i], i);
    if (error != et::Error::Ok)
      return runtime_failure(fmt::format("input {} of {}", i, name_), "refuses it", error);
  }
  if (tracer_ != nullptr) tracer_->create_event_block("Execute");
  const et::Error error = method_->execute();
  const std::uint64_t ns = ns_since(start);
  if (error != et::Error::Ok) return runtime_failure(name_, "cannot execute it", error);
  return ns;
}

Result<std::vector<RuntimeValue>> LoadedMethod::outputs() {
  std::vector<RuntimeValue> outputs;
  for (std::size_t i = 0; i < method_->outputs_size(); ++i) {
    const et::EValue& value = method_->get_output(i);
    const std::string where = fmt::format("output {} of {}", i, name_);
    if (value.isNone()) {
      outputs.emplace_back();
    } else if (value.isTensor()) {
      TRY(TensorData data, data_of(value.toTensor(), where));
      outputs.emplace_back(std::move(data));
    } else if (value.isInt()) {
      outputs.emplace_back(value.toInt());
    } else if (value.isDouble()) {
      outputs.emplace_back(value.toDouble());
    } else if (value.isBool()) {
      outputs.emplace_back(value.toBool());
    } else {
      return failure("run", where, "it is neither a tensor nor a number");
    }
  }
  return outputs;
}

RunMemory LoadedMethod::memory() const {
  RunMemory memory = memory_;
  memory.temporary = temporary_allocator_.most_used();
  memory.process = peak_process_bytes();
  return memory;
}

std::vector<std::byte> dump_of(executorch::etdump::ETDumpGen* tracer) {
  if (tracer == nullptr) return {};
  const auto result = tracer->get_etdump_data();
  const auto* bytes = static_cast<const std::byte*>(result.buf);
  std::vector<std::byte> copy(bytes, bytes + result.size);
  std::free(result.buf);
  return copy;
}

}  // namespace

Result<RunResult> run_program(const RunRequest& request, const ExecutionPlan& plan) {
  keep_runtime_log();
  et::runtime_init();
  for (const std::string& plugin : request.plugins)
    TRY_STATUS(open_library(fs::absolute(plugin).string(), "the plug-in"));
  if (request.keeps_backends) load_what_is_used(plan);
  RunResult result{.program = request.name, .method = plan.name};
  if (!request.originals.empty()) {
    TRY(result.stand_ins, register_stand_ins(plan, request.stand_ins, request.originals));
  }
  load_what_is_used(plan);
  if (request.threads > 0)
    executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(
        static_cast<std::uint32_t>(request.threads));

  std::unique_ptr<executorch::etdump::ETDumpGen> tracer;
  ValueSink values;
  if (request.is_traced) tracer = std::make_unique<executorch::etdump::ETDumpGen>();
  if (request.is_traced && request.traces_values) {
    tracer->set_data_sink(&values);
    tracer->set_event_tracer_debug_level(et::EventTracerDebugLogLevel::kIntermediateOutputs);
  }
  const Clock::time_point start = Clock::now();
  TRY(std::unique_ptr<LoadedMethod> method, LoadedMethod::load(request, plan, tracer.get()));
  result.load_ns = ns_since(start);
  result.call_ns.resize(request.calls.size());
  for (std::uint64_t round = 0; round < request.repeat; ++round) {
    for (std::size_t call = 0; call < request.calls.size(); ++call) {
      if (request.loads_anew && round == 0 && call > 0) {
        method.reset();  // before the next one takes memory
        TRY(method, LoadedMethod::load(request, plan, tracer.get()));
      }
      TRY(const std::uint64_t ns, method->call(request.calls[call]));
      result.call_ns[call].push_back(ns);
      if (round > 0) continue;
      TRY(std::vector<RuntimeValue> outputs, method->outputs());
      result.outputs.push_back(std::move(outputs));
    }
  }
  result.memory = method->memory();
  result.dump = dump_of(tracer.get());
  result.values = values.take();
  return result;
}

}  // namespace depute
