// The other half of a backend: it executes delegates in ExecuTorch's runtime. This header stands on ExecuTorch's alone, and needs
// C++17, no library of Depute's.
//
//   class Twice : public depute::RuntimeDelegate {
//    public:
//     explicit Twice(const depute::RuntimePayload& payload) {}     // throws if it cannot execute it
//     void execute(depute::RuntimeArguments arguments) override {  // inputs, then results
//       const float* x = arguments.data<float>(0);
//       float* y = arguments.result<float>(1, arguments.sizes(0));
//       for (std::size_t i = 0; i < arguments.count(0); ++i) y[i] = 2 * x[i];
//     }
//   };
//   DEPUTE_RUNTIME_BACKEND("TwiceBackend", Twice)
//
// A shared library with it works in the ExecuTorch packages 1.4 and 1.5: by `depute run --plugin`, by depute.load_runtime_plugin()
// in Python, or by dlopen() in an application whose symbols of the runtime are global. It stays undefined which library has these
// symbols, so that one build serves both versions. Exceptions are errors of the load or of the call, with their text in the runtime's log.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/platform/log.h>

#ifdef __linux__
#include <dlfcn.h>
#include <link.h>
#endif

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace depute {
// Libraries that were built with other versions of this header may be in the same process: its classes have names of their own.
inline namespace runtime_2 {

// An exception with one of the runtime's own error codes; all others are Error::Internal.
class RuntimeFailure : public std::runtime_error {
 public:
  RuntimeFailure(executorch::runtime::Error code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  executorch::runtime::Error code() const { return code_; }

 private:
  executorch::runtime::Error code_;
};

// Payload of a delegate, which the compiler's half made, for the constructor of a RuntimeDelegate. The texts of bytes(), spec_key() and
// spec_value() are valid as long as the delegate; the payload itself is not.
class RuntimePayload {
 public:
  RuntimePayload(executorch::runtime::BackendInitContext& context, std::string_view bytes,
                 executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> specs)
      : context_(context), bytes_(bytes), specs_(specs) {}

  std::string_view bytes() const { return bytes_; }
  const char* method() const { return context_.get_method_name(); }

  std::size_t spec_count() const { return specs_.size(); }
  std::string_view spec_key(std::size_t i) const { return specs_[i].key; }
  std::string_view spec_value(std::size_t i) const {
    return {static_cast<const char*>(specs_[i].value.buffer), specs_[i].value.nbytes};
  }

  // Named data of the delegate; throws if there are none of this key. The buffer has to be kept as long as its bytes are used.
  executorch::runtime::FreeableBuffer named_data(const char* key) const {
    const executorch::runtime::NamedDataMap* map = context_.get_named_data_map();
    if (map != nullptr) {
      auto buffer = map->get_data(key);
      if (buffer.ok()) return std::move(buffer.get());
    }
    throw std::runtime_error(std::string("there are no named data '") + key + "'");
  }

  // Its memory is the application's, and stays as long as the delegate.
  executorch::runtime::MemoryAllocator& allocator() const { return *context_.get_runtime_allocator(); }

 private:
  executorch::runtime::BackendInitContext& context_;
  std::string_view bytes_;
  executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> specs_;
};

// Arguments of a call: the delegate's inputs, then its results. All functions throw if an argument is of another kind.
class RuntimeArguments {
 public:
  using Sizes = executorch::runtime::ArrayRef<executorch::aten::SizesType>;

  explicit RuntimeArguments(executorch::runtime::Span<executorch::runtime::EValue*> values)
      : values_(values) {}

  std::size_t size() const { return values_.size(); }
  executorch::runtime::EValue& value(std::size_t i) const {
    if (i >= values_.size()) fail(i, "does not exist");
    return *values_[i];
  }
  executorch::aten::Tensor tensor(std::size_t i) const {
    if (!value(i).isTensor()) fail(i, "is no tensor");
    return value(i).toTensor();
  }
  Sizes sizes(std::size_t i) const { return {tensor(i).sizes().data(), tensor(i).sizes().size()}; }
  std::size_t count(std::size_t i) const { return static_cast<std::size_t>(tensor(i).numel()); }  // elements

  // Elements in the order of memory, which is row-major unless the tensor's dim_order() says otherwise.
  template <typename T>
  const T* data(std::size_t i) const {
    return typed<T>(i).template const_data_ptr<T>();
  }

  // Gives a result its sizes, within the bounds that it was compiled with.
  template <typename T>
  T* result(std::size_t i, Sizes sizes) const {
    executorch::aten::Tensor to = typed<T>(i);
    if (executorch::runtime::resize_tensor(to, sizes) != executorch::runtime::Error::Ok)
      fail(i, "cannot have these sizes");
    return to.template mutable_data_ptr<T>();
  }

 private:
  template <typename T>
  executorch::aten::Tensor typed(std::size_t i) const {
    executorch::aten::Tensor of = tensor(i);
    if (of.scalar_type() != executorch::runtime::CppTypeToScalarType<T>::value)
      fail(i, "has another element type");
    return of;
  }
  [[noreturn]] static void fail(std::size_t i, const char* what) {
    throw std::runtime_error("argument " + std::to_string(i) + " " + what);
  }

  executorch::runtime::Span<executorch::runtime::EValue*> values_;
};

// A part of a call in the runtime's trace: begins when it is made, ends when it is destroyed.
class [[nodiscard]] RuntimeEvent {
 public:
  // One of `name` and `id` is none: null, or less than 0. If both are, the event is not traced.
  RuntimeEvent(executorch::runtime::EventTracer* tracer, const char* name,
               executorch::runtime::DelegateDebugIntId id)
      : tracer_(name != nullptr || id >= 0 ? tracer : nullptr) {
    if (tracer_ != nullptr) entry_ = tracer_->start_profiling_delegate(name, id);
  }
  ~RuntimeEvent() {
    if (tracer_ != nullptr) tracer_->end_profiling_delegate(entry_);
  }
  RuntimeEvent(const RuntimeEvent&) = delete;
  RuntimeEvent& operator=(const RuntimeEvent&) = delete;

 private:
  executorch::runtime::EventTracer* tracer_;  // null: the call is not traced
  executorch::runtime::EventTracerEntry entry_;
};

// A delegate of a loaded method. Calls of one do not overlap.
class RuntimeDelegate {
 public:
  virtual ~RuntimeDelegate() = default;
  virtual void execute(RuntimeArguments arguments) = 0;

 protected:
  // Times a part of the present call, if the call is traced: `const auto timed = event(0);` the rest of its block. Only the thread
  // that calls execute() may use it. The compiler's half gave the id or name to its DelegateMappingBuilder, by which
  // `depute profile` finds the lines of the model.
  RuntimeEvent event(executorch::runtime::DelegateDebugIntId id) const { return {tracer_, nullptr, id}; }
  RuntimeEvent event(const char* name) const {
    return {tracer_, name, executorch::runtime::kUnsetDelegateDebugIntId};
  }

 private:
  friend class RuntimeBackend;
  executorch::runtime::EventTracer* tracer_ = nullptr;  // of the present call; null if it is not traced
};

using MakeRuntimeDelegate = std::function<std::unique_ptr<RuntimeDelegate>(const RuntimePayload& payload)>;

class RuntimeBackend final : public executorch::runtime::BackendInterface {
 public:
  RuntimeBackend(std::string id, MakeRuntimeDelegate make) : id_(std::move(id)), make_(std::move(make)) {}

  const char* id() const { return id_.c_str(); }
  bool is_available() const override { return true; }

  executorch::runtime::Result<executorch::runtime::DelegateHandle*> init(
      executorch::runtime::BackendInitContext& context, executorch::runtime::FreeableBuffer* processed,
      executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> specs) const override {
    executorch::runtime::DelegateHandle* handle = nullptr;
    const auto error = guard([&] {
      const std::string_view bytes(static_cast<const char*>(processed->data()), processed->size());
      handle = make_(RuntimePayload(context, bytes, specs)).release();
    });
    if (error != executorch::runtime::Error::Ok) return error;
    return handle;
  }

  executorch::runtime::Error execute(
      executorch::runtime::BackendExecutionContext& context, executorch::runtime::DelegateHandle* handle,
      executorch::runtime::Span<executorch::runtime::EValue*> arguments) const override {
    auto* delegate = static_cast<RuntimeDelegate*>(handle);
    delegate->tracer_ = context.event_tracer();
    const auto error = guard([&] { delegate->execute(RuntimeArguments(arguments)); });
    delegate->tracer_ = nullptr;
    return error;
  }

  void destroy(executorch::runtime::DelegateHandle* handle) const override {
    delete static_cast<RuntimeDelegate*>(handle);
  }

 private:
  template <typename Function>
  executorch::runtime::Error guard(Function&& function) const {
    try {
      function();
      return executorch::runtime::Error::Ok;
    } catch (const RuntimeFailure& failure) {
      ET_LOG(Error, "%s: %s", id_.c_str(), failure.what());
      return failure.code();
    } catch (const std::exception& exception) {
      ET_LOG(Error, "%s: %s", id_.c_str(), exception.what());
    } catch (...) {
      ET_LOG(Error, "%s: an unknown exception", id_.c_str());
    }
    return executorch::runtime::Error::Internal;
  }

  std::string id_;
  MakeRuntimeDelegate make_;
};

using RegisterBackend = executorch::runtime::Error (*)(const executorch::runtime::Backend&);

// The registry of the runtime that executes methods. In a Python process with ExecuTorch 1.4, libraries of kernels have registries of
// their own, empty ones, which the loader may find first.
inline RegisterBackend runtime_registry() {
  struct Search {
    RegisterBackend found = &executorch::runtime::register_backend;
    std::size_t backends = executorch::runtime::get_num_registered_backends();
  };
  Search search;
#ifdef __linux__
  const auto look = [](dl_phdr_info* library, std::size_t, void* result) {
    auto& best = *static_cast<Search*>(result);
    void* handle = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return 0;
    void* count = dlsym(handle, "_ZN10executorch7runtime27get_num_registered_backendsEv");
    void* add = dlsym(handle, "_ZN10executorch7runtime16register_backendERKNS0_7BackendE");
    dlclose(handle);
    if (count == nullptr || add == nullptr) return 0;
    const std::size_t backends = reinterpret_cast<std::size_t (*)()>(count)();
    if (backends > best.backends) best = {reinterpret_cast<RegisterBackend>(add), backends};
    return 0;
  };
  dl_iterate_phdr(look, &search);
#endif
  return search.found;
}

// Registers a backend for the rest of the process. Returns false if the runtime has one of this id, or has 16 backends.
inline bool register_runtime_backend(const char* id, MakeRuntimeDelegate make) {
  // The runtime keeps both pointers.
  auto* backend = new RuntimeBackend(id, std::move(make));
  return runtime_registry()({backend->id(), backend}) == executorch::runtime::Error::Ok;
}

}  // namespace runtime_2
}  // namespace depute

// Registers the class for delegates with this id when the library is loaded. Its constructor takes a RuntimePayload.
#define DEPUTE_RUNTIME_BACKEND(id, Class)                                                  \
  [[maybe_unused]] static const bool depute_has_registered_##Class =                       \
      depute::register_runtime_backend(id, [](const depute::RuntimePayload& payload) {     \
        return std::unique_ptr<depute::RuntimeDelegate>(std::make_unique<Class>(payload)); \
      });
