#include "runtime/stand_in_backend.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "depute/program/interpret.h"
#include "kernels/tensors.h"
#include "runtime/tensors.h"
#include "support/try.h"

namespace depute {
namespace {

namespace et = executorch::runtime;

// A delegate while its method is loaded.
struct StandIn {
  std::shared_ptr<const Program> original;
  ProgramState state;
};

Result<RuntimeValue> content_of(const et::EValue& value) {
  if (value.isNone()) return RuntimeValue();
  if (value.isInt()) return RuntimeValue(value.toInt());
  if (value.isDouble()) return RuntimeValue(value.toDouble());
  if (value.isBool()) return RuntimeValue(value.toBool());
  if (!value.isTensor()) return failure("run", "", "an argument is neither a tensor nor a number");
  TRY(TensorData data, data_of(value.toTensor(), "an argument"));
  return RuntimeValue(std::move(data));
}

Status store(const RuntimeValue& result, et::EValue& place) {
  if (const auto* number = std::get_if<std::int64_t>(&result)) {
    place = et::EValue(*number);
    return {};
  }
  if (const auto* number = std::get_if<double>(&result)) {
    place = et::EValue(*number);
    return {};
  }
  if (const auto* truth = std::get_if<bool>(&result)) {
    place = et::EValue(*truth);
    return {};
  }
  const auto* data = std::get_if<TensorData>(&result);
  if (data == nullptr || !place.isTensor())
    return failure("run", "", "a result is of another kind than its place");
  executorch::aten::Tensor tensor = place.toTensor();
  std::vector<executorch::aten::SizesType> sizes;
  for (const SymInt& size : data->type.sizes)
    sizes.push_back(static_cast<executorch::aten::SizesType>(size.value()));
  if (et::resize_tensor(tensor, {sizes.data(), sizes.size()}) != et::Error::Ok)
    return failure("run", "", fmt::format("a result is {}, which its place cannot be", str(data->type)));
  internal::Shape strides;
  for (const auto stride : tensor.strides()) strides.push_back(stride);
  internal::copy_elements(*data, {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()}, 0,
                          strides);
  return {};
}

class StandInBackend final : public et::BackendInterface {
 public:
  // Sets the originals of the delegates that are initialized next, in this order.
  void provide(std::deque<std::shared_ptr<const Program>> originals) { originals_ = std::move(originals); }

  bool is_available() const override { return true; }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext&, et::FreeableBuffer* processed,
                                       et::ArrayRef<et::CompileSpec>) const override {
    processed->Free();
    if (originals_.empty()) return et::Error::InvalidState;
    std::unique_ptr<StandIn> made(new StandIn{.original = originals_.front(), .state = {}});
    originals_.pop_front();
    return static_cast<et::DelegateHandle*>(made.release());
  }

  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle* handle,
                    et::Span<et::EValue*> arguments) const override {
    const Status executed = run(*static_cast<StandIn*>(handle), {arguments.data(), arguments.size()});
    if (executed) return et::Error::Ok;
    ET_LOG(Error, "stand-in: %s", executed.error().str().c_str());
    return et::Error::Internal;
  }

  void destroy(et::DelegateHandle* handle) const override { delete static_cast<StandIn*>(handle); }

 private:
  // `arguments` are inputs, then places for results.
  static Status run(StandIn& delegate, std::span<et::EValue*> arguments) {
    const Method& method = *delegate.original->methods.at(0);
    const auto inputs = static_cast<std::size_t>(
        std::ranges::count_if(method.inputs, [](const InputSpec& spec) { return !spec.has_data(); }));
    if (inputs > arguments.size()) return failure("run", "", "there are too few arguments");
    std::vector<RuntimeValue> values;
    for (const et::EValue* argument : arguments.first(inputs)) {
      TRY(RuntimeValue value, content_of(*argument));
      values.push_back(std::move(value));
    }
    TRY(const std::vector<RuntimeValue> results,
        interpret(*delegate.original, method, values, delegate.state));
    if (results.size() != arguments.size() - inputs)
      return failure(
          "run", "",
          fmt::format("it has {} results for {} places", results.size(), arguments.size() - inputs));
    for (std::size_t i = 0; i < results.size(); ++i) TRY_STATUS(store(results[i], *arguments[inputs + i]));
    return {};
  }

  mutable std::deque<std::shared_ptr<const Program>> originals_;  // of delegates that are not initialized yet
};

}  // namespace

Result<std::map<std::string, std::size_t>> register_stand_ins(
    const ExecutionPlan& method, const std::vector<std::string>& ids,
    const std::vector<std::shared_ptr<const Program>>& originals) {
  // The runtime keeps names and backends until the process ends.
  static auto& registered = *new std::map<std::string, StandInBackend>();
  std::set<std::string> wanted(ids.begin(), ids.end());
  if (ids.empty()) {
    for (const PlanDelegate& delegate : method.delegates) {
      const std::string& id = delegate.backend_id;
      if (registered.contains(id) || et::get_backend_class(id.c_str()) == nullptr) wanted.insert(id);
    }
  }
  std::map<std::string, std::size_t> delegates;
  for (const std::string& id : wanted) {
    std::deque<std::shared_ptr<const Program>> of_id;
    for (std::size_t i = 0; i < method.delegates.size(); ++i) {
      if (method.delegates[i].backend_id == id) of_id.push_back(originals[i]);
    }
    if (!of_id.empty()) delegates[id] = of_id.size();
    const auto [place, is_new] = registered.try_emplace(id);
    place->second.provide(std::move(of_id));
    if (is_new && et::register_backend({place->first.c_str(), &place->second}) != et::Error::Ok)
      return failure("usage", "--stand-in", fmt::format("the runtime has {} itself", id));
  }
  return delegates;
}

}  // namespace depute
