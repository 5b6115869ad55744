#include "quantize/fold_batch_norms.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "quantize/constants.h"
#include "quantize/static_ops.h"

namespace depute {
namespace {

// A batch norm computes (x - mean) * inverse * gamma + beta for each channel.
struct Norm {
  std::vector<float> mean, inverse, gamma, beta;
};

bool is_training(const OpCall& call) {
  return call.def().arg_index(Name("training")) >= 0 && call.boolean("training");
}

// Returns an argument's values (`otherwise` if it is None), or nullopt if they may change at run time.
std::optional<std::vector<float>> numbers(const Program& program, const Method& method, const OpCall& call,
                                          std::string_view name, std::size_t count, float otherwise) {
  const Value* value = call.value(name);
  if (value == nullptr) return std::vector<float>(count, otherwise);
  const TensorData* data = fixed_floats(program, method, *value);
  if (data == nullptr || data->type.numel() != SymInt(static_cast<std::int64_t>(count))) return std::nullopt;
  return floats_of(*data);
}

std::optional<Norm> read_norm(const Program& program, const Method& method, const OpCall& call,
                              std::size_t channels) {
  if (is_training(call) || call.value("running_mean") == nullptr || call.value("running_var") == nullptr)
    return std::nullopt;
  auto mean = numbers(program, method, call, "running_mean", channels, 0);
  auto variance = numbers(program, method, call, "running_var", channels, 1);
  auto gamma = numbers(program, method, call, "weight", channels, 1);
  auto beta = numbers(program, method, call, "bias", channels, 0);
  if (!mean || !variance || !gamma || !beta) return std::nullopt;
  const auto epsilon = static_cast<float>(call.number("eps"));
  for (float& x : *variance) x = 1 / std::sqrt(x + epsilon);
  return Norm{std::move(*mean), std::move(*variance), std::move(*gamma), std::move(*beta)};
}

TensorData floats_data(const Dims& sizes, const std::vector<float>& floats) {
  return make_data<float>(ScalarType::F32, sizes, floats);
}

// Returns the layer that computes the norm's input, or null if there is none or other nodes read that input.
Node* layer_before(Node& norm) {
  for (std::size_t i = 1; i < norm.results().size(); ++i) {
    if (norm.result(i)->has_uses()) return nullptr;
  }
  const Value* input = OpCall(norm).value("input");
  if (input == nullptr || input->producer() == nullptr || !input->has_one_use()) return nullptr;
  Node* layer = norm.graph().own(*input->producer());
  const StaticRole role = static_role(*layer);
  // A linear layer has its channels in the last dimension, a norm in dimension 1.
  if (role == StaticRole::Linear) return input->tensor().rank() == 2 ? layer : nullptr;
  return has_weight(role) ? layer : nullptr;
}

void fold(Program& program, Method& method, NewConstants& constants, Node& norm) {
  Node* layer = layer_before(norm);
  if (layer == nullptr) return;
  const OpCall call(*layer);
  const bool is_transposed = static_role(*layer) == StaticRole::TransposedConvolution;
  if (is_transposed && call.integer("groups") != 1) return;
  const TensorData* weight = fixed_floats(program, method, *call.value("weight"));
  if (weight == nullptr || weight->type.rank() < 2) return;
  const Dims sizes = weight->type.sizes;
  const std::size_t axis = is_transposed ? 1 : 0;
  const auto channels = static_cast<std::size_t>(sizes[axis].value());
  const auto norms = read_norm(program, method, OpCall(norm), channels);
  auto bias = numbers(program, method, call, "bias", channels, 0);
  if (!norms || !bias) return;

  std::vector<float> weights = floats_of(*weight);
  std::size_t inner = 1;
  for (std::size_t dim = axis + 1; dim < sizes.size(); ++dim)
    inner *= static_cast<std::size_t>(sizes[dim].value());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t channel = i / inner % channels;
    weights[i] *= norms->gamma[channel] * norms->inverse[channel];
  }
  for (std::size_t i = 0; i < channels; ++i)
    (*bias)[i] = ((*bias)[i] - norms->mean[i]) * norms->inverse[i] * norms->gamma[i] + norms->beta[i];

  const std::string name =
      fmt::format("{}.{}", input_spec(method, *call.value("weight"))->target.str(), norm.display_name());
  Value* folded = constants.add(method, name, floats_data(sizes, weights));
  Value* shift = constants.add(method, name + ".bias", floats_data({sizes[axis]}, *bias));
  set_argument(*layer, "weight", Argument::of(folded));
  set_argument(*layer, "bias", Argument::of(shift));
  norm.graph().replace_uses(*norm.result(), layer->result());
  norm.graph().erase(norm);
}

}  // namespace

void fold_batch_norms(Program& program, Method& method) {
  NewConstants constants(program);
  for (Node& node : method.graph->nodes()) {
    if (static_role(node) == StaticRole::BatchNorm) fold(program, method, constants, node);
  }
}

}  // namespace depute
