#include "quantize/dynamic_convolutions.h"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

#include "depute/program/builder.h"
#include "quantize/channel_weights.h"
#include "quantize/fold_batch_norms.h"
#include "quantize/histogram_observer.h"
#include "support/try.h"

namespace depute {
namespace {

// True if there are several groups with one input channel each.
bool is_depthwise(const OpCall& call) {
  return call.integer("groups") > 1 && call.tensor("weight").sizes[1] == SymInt(1);
}

std::optional<std::string_view> reason_against(const Program& program, const Method& method, const Node& node,
                                               StaticRole role) {
  if (const auto reason = reason_against_channels(program, method, node, role)) return reason;
  const OpCall call(node);
  if (!is_floats(call.value("input")) || !is_floats(node.result())) return "it is not f32";
  const std::size_t rank = call.tensor("weight").rank();
  if (rank > 4) return "it has three spatial dimensions";
  if (call.tensor("input").rank() != rank)
    return "its input must have shape [batch, channels, height, width]";
  if (role == StaticRole::Convolution && is_depthwise(call))
    return "it is depthwise; runtimes compute it with f32";
  return std::nullopt;
}

class ConvolutionQuantizer {
 public:
  ConvolutionQuantizer(Program& program, NewConstants& constants, QuantizeResult& result)
      : program_(program), constants_(constants), result_(result) {}

  Status run(Method& method, const std::function<bool(const Node&)>& chooses, int jobs) {
    fold_batch_norms(program_, method);
    std::vector<ChannelWeight> weights;
    for (Node& node : method.graph->nodes()) {
      const StaticRole role = static_role(node);
      if (!is_convolution(role) || !chooses(node)) continue;
      if (const auto reason = reason_against(program_, method, node, role)) {
        result_.left.push_back(fmt::format("%{}: {}", node.display_name(), *reason));
        continue;
      }
      weights.push_back({&node, method.graph->own(*OpCall(node).value("weight")), channel_axis(role)});
    }
    TRY_STATUS(write_channel_weights(program_, method, constants_, weights, "8da8w", jobs, result_));
    for (const ChannelWeight& weight : weights) TRY_STATUS(quantize_input(*weight.layer));
    return {};
  }

 private:
  // Quantizes and dequantizes the input over the whole integer range, once for all convolutions that read it.
  Status quantize_input(Node& node) {
    const Value* input = OpCall(node).value("input");
    auto [known, is_new] = images_.try_emplace(input, nullptr);
    if (is_new) {
      Builder b(node.graph(), &node);
      b.inherit(node);
      const std::vector<Value*> chosen =
          b.call_all("quantized_decomposed.choose_qparams.tensor",
                     {b.own(input), -128, 127, double{min_scale}, ScalarType::I8});
      TRY_STATUS(b.status());
      Value* integers = b.call("quantized_decomposed.quantize_per_tensor.tensor",
                               {b.own(input), chosen[0], chosen[1], -128, 127, ScalarType::I8});
      known->second = b.call("quantized_decomposed.dequantize_per_tensor.tensor",
                             {integers, chosen[0], chosen[1], -128, 127, ScalarType::I8});
      TRY_STATUS(b.status());
    }
    set_argument(node, "input", Argument::of(known->second));
    return {};
  }

  Program& program_;
  NewConstants& constants_;
  QuantizeResult& result_;
  std::unordered_map<const Value*, Value*> images_;  // inputs that are quantized already
};

}  // namespace

Status quantize_convolutions(Program& program, const std::function<bool(const Node&)>& chooses, int jobs,
                             QuantizeResult& result) {
  NewConstants constants(program);
  ConvolutionQuantizer quantizer(program, constants, result);
  for (auto& method : program.methods) TRY_STATUS(quantizer.run(*method, chooses, jobs));
  return {};
}

}  // namespace depute
