// Batch normalization with fixed statistics: a factor and a summand per channel. fold_affine.cpp folds them
// into the weights of the preceding node if possible.
#include <cmath>

#include <fmt/format.h>

#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

// weight / sqrt(variance + eps)
Constant scale_of(const Constant& variance, const Constant* weight, double eps) {
  std::vector<Constant> inputs = {variance};
  if (weight != nullptr) inputs.push_back(*weight);
  return computed(fmt::format("bn-scale:{}", eps), std::move(inputs), variance.sizes(),
                  [eps](std::span<const std::vector<float>> in) {
                    std::vector<float> scale = in[0];
                    for (std::size_t i = 0; i < scale.size(); ++i) {
                      const double factor = in.size() > 1 ? in[1][i] : 1;
                      scale[i] = static_cast<float>(factor / std::sqrt(scale[i] + eps));
                    }
                    return scale;
                  });
}

// bias - mean * scale
Constant shift_of(const Constant& mean, const Constant& scale, const Constant* bias) {
  std::vector<Constant> inputs = {mean, scale};
  if (bias != nullptr) inputs.push_back(*bias);
  return computed("bn-shift", std::move(inputs), mean.sizes(), [](std::span<const std::vector<float>> in) {
    std::vector<float> shift = in[0];
    for (std::size_t i = 0; i < shift.size(); ++i) {
      const double start = in.size() > 2 ? in[2][i] : 0;
      shift[i] = static_cast<float>(start - static_cast<double>(shift[i]) * in[1][i]);
    }
    return shift;
  });
}

void translate_batch_norm(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "input");
  const Constant* weight = emit.constant_of(emit.optional_input(call, "weight"));
  const std::optional<Constant> gamma = weight == nullptr ? std::nullopt : std::optional(*weight);
  const Constant* bias = emit.constant_of(emit.optional_input(call, "bias"));
  const std::optional<Constant> beta = bias == nullptr ? std::nullopt : std::optional(*bias);
  const Constant mean = *emit.constant_of(emit.input(call, "running_mean"));
  const Constant variance = *emit.constant_of(emit.input(call, "running_var"));
  const Constant scale = scale_of(variance, gamma ? &*gamma : nullptr, call["eps"].as_double());
  const Constant shift = shift_of(mean, scale, beta ? &*beta : nullptr);
  emit.result(emit.add_sized(NodeKind::ChannelAffine, {x, emit.constant(scale), emit.constant(shift)},
                             emit.sizes(x)));
}

}  // namespace

std::span<const OpRule> batch_norm() {
  using namespace limit;
  static constexpr Limit images[] = {ranks("input", 4, 4),     constant("weight"),      constant("bias"),
                                     constant("running_mean"), constant("running_var"), number("eps"),
                                     first_result_alone()};
  static constexpr Limit others[] = {
      ranks("input", 2, 6),     dtype("input", ScalarType::F32), constant("weight"), constant("bias"),
      constant("running_mean"), constant("running_var"),         number("eps"),      first_result_alone()};
  static constexpr OpRule rules[] = {
      {.op = "aten._native_batch_norm_legit_no_training.default",
       .forms = {images, others},
       .translate = translate_batch_norm},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
