// The library by which runtime halves in Python (python/depute/runtime.py) are backends of ExecuTorch's runtime: functions of C with
// callbacks, so that it links neither Python nor one version of the runtime.
//
//   depute_register("TwiceBackend", init, execute, destroy)
//   init(method, bytes, size, specs, count)   ->  a number for the delegate, or an error code of the runtime, negated
//   execute(number, arguments, count)         ->  an error code of the runtime, or 0
#include <depute/runtime_backend.h>

#include <cstring>
#include <vector>

extern "C" {

struct DeputeSpec {
  const char* key;
  const void* data;
  std::size_t size;
};

// An argument of a call. A tensor's memory is valid during the call.
struct DeputeArgument {
  std::int32_t kind;   // 0 none, 1 int, 2 float, 3 bool, 4 tensor
  std::int32_t dtype;  // ExecuTorch's number
  std::int32_t rank;
  const std::int32_t* sizes;
  const std::int32_t* strides;  // elements
  void* data;
  std::size_t bytes;
  std::int64_t integer;
  double real;
  void* value;  // of the runtime
};

using DeputeInit = std::int64_t (*)(const char* method, const void* bytes, std::size_t size,
                                    const DeputeSpec* specs, std::size_t count);
using DeputeExecute = std::int32_t (*)(std::int64_t delegate, DeputeArgument* arguments, std::size_t count);
using DeputeDestroy = void (*)(std::int64_t delegate);
}

namespace {

namespace et = executorch::runtime;

enum Kind : std::int32_t { None, Int, Float, Bool, Tensor };

void describe(et::EValue& value, DeputeArgument& argument) {
  argument = {};
  argument.value = &value;
  if (value.isInt()) {
    argument.kind = Int;
    argument.integer = value.toInt();
  } else if (value.isDouble()) {
    argument.kind = Float;
    argument.real = value.toDouble();
  } else if (value.isBool()) {
    argument.kind = Bool;
    argument.integer = value.toBool() ? 1 : 0;
  } else if (value.isTensor()) {
    executorch::aten::Tensor tensor = value.toTensor();
    argument.kind = Tensor;
    argument.dtype = static_cast<std::int32_t>(tensor.scalar_type());
    argument.rank = static_cast<std::int32_t>(tensor.dim());
    argument.sizes = tensor.sizes().data();
    argument.strides = tensor.strides().data();
    argument.data = tensor.mutable_data_ptr();
    argument.bytes = tensor.nbytes();
  }
}

struct Callbacks {
  DeputeInit init;
  DeputeExecute execute;
  DeputeDestroy destroy;
};

class CallingDelegate final : public depute::RuntimeDelegate {
 public:
  CallingDelegate(const Callbacks& callbacks, std::int64_t number) : callbacks_(callbacks), number_(number) {}
  ~CallingDelegate() override { callbacks_.destroy(number_); }

  void execute(depute::RuntimeArguments arguments) override {
    std::vector<DeputeArgument> described(arguments.size());
    for (std::size_t i = 0; i < described.size(); ++i) describe(arguments.value(i), described[i]);
    const std::int32_t code = callbacks_.execute(number_, described.data(), described.size());
    if (code != 0) throw depute::RuntimeFailure(static_cast<et::Error>(code), "execute() raised an exception");
  }

 private:
  const Callbacks& callbacks_;
  std::int64_t number_;
};

std::unique_ptr<depute::RuntimeDelegate> make_delegate(const Callbacks& callbacks,
                                                       const depute::RuntimePayload& payload) {
  std::vector<DeputeSpec> specs;
  for (std::size_t i = 0; i < payload.spec_count(); ++i)
    specs.push_back({payload.spec_key(i).data(), payload.spec_value(i).data(), payload.spec_value(i).size()});
  const std::int64_t number = callbacks.init(payload.method(), payload.bytes().data(), payload.bytes().size(),
                                             specs.data(), specs.size());
  if (number < 0) throw depute::RuntimeFailure(static_cast<et::Error>(-number), "init() raised an exception");
  return std::make_unique<CallingDelegate>(callbacks, number);
}

}  // namespace

#define DEPUTE_EXPORT extern "C" __attribute__((visibility("default")))

// Returns 0, or 1 if the runtime has a backend of this id or cannot have more.
DEPUTE_EXPORT std::int32_t depute_register(const char* id, DeputeInit init, DeputeExecute execute,
                                           DeputeDestroy destroy) {
  const auto* callbacks = new Callbacks{init, execute, destroy};  // the runtime keeps them
  const auto make = [callbacks](const depute::RuntimePayload& payload) {
    return make_delegate(*callbacks, payload);
  };
  return depute::register_runtime_backend(id, make) ? 0 : 1;
}

// Gives a tensor of a result its sizes. Returns 0, or 1 if it cannot have them.
DEPUTE_EXPORT std::int32_t depute_resize(DeputeArgument* argument, const std::int32_t* sizes,
                                         std::size_t rank) {
  auto& value = *static_cast<et::EValue*>(argument->value);
  if (et::resize_tensor(value.toTensor(), {sizes, rank}) != et::Error::Ok) return 1;
  describe(value, *argument);
  return 0;
}

// Sets a result that is a number, of the kind that it has.
DEPUTE_EXPORT void depute_set_number(DeputeArgument* argument, std::int64_t integer, double real) {
  auto& value = *static_cast<et::EValue*>(argument->value);
  if (argument->kind == Int) value = et::EValue(integer);
  if (argument->kind == Float) value = et::EValue(real);
  if (argument->kind == Bool) value = et::EValue(integer != 0);
}
