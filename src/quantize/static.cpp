#include "quantize/static.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <unordered_set>

#include "depute/program/builder.h"
#include "quantize/calibrate.h"
#include "quantize/calibration_samples.h"
#include "quantize/constants.h"
#include "quantize/fold_batch_norms.h"
#include "quantize/integer_forms.h"
#include "quantize/layers.h"
#include "support/try.h"

namespace depute {
namespace {

class StaticRewriter {
 public:
  StaticRewriter(Program& program, Method& method, int bits)
      : program_(program), method_(method), graph_(*method.graph), constants_(program), bits_(bits) {}

  Status run(const StaticPlan& plan, std::span<const Quantum> quanta) {
    for (const StaticPlan::Activation& activation : plan.activations)
      TRY_STATUS(rewrite(activation, quanta[activation.group]));
    return {};
  }

 private:
  Status rewrite(const StaticPlan::Activation& activation, const Quantum& quantum) {
    std::vector<Node*> readers = activation.readers;
    if (activation.is_for_all) readers = users_of(*activation.value);
    if (readers.empty()) return {};
    TRY(Value * integers, quantized(*activation.value, quantum, *readers.front()));
    for (Node* reader : readers) {
      Builder b(graph_, reader->is_return() ? nullptr : reader);
      if (!reader->is_return()) b.inherit(*reader);
      if (reader->is_return() && activation.value->producer() != nullptr)
        b.inherit(*activation.value->producer());
      Value* back = b.call("quantized_decomposed.dequantize_per_tensor.default",
                           {integers, double{quantum.scale}, quantum.zero_point, least(), most(), dtype()});
      TRY_STATUS(b.status());
      for (std::size_t i = 0; i < reader->operand_count(); ++i) {
        if (reader->operand(i) == activation.value) graph_.set_operand(*reader, i, back);
      }
    }
    return {};
  }

  // Returns the value's users without duplicates, in graph order.
  std::vector<Node*> users_of(Value& value) {
    std::unordered_set<const Node*> users;
    for (const Use& use : value.uses()) users.insert(use.user());
    std::vector<Node*> ordered;
    Node* node = value.producer() == nullptr ? graph_.first() : value.producer()->next();
    for (; node != nullptr && ordered.size() < users.size(); node = node->next()) {
      if (users.contains(node)) ordered.push_back(node);
    }
    if (users.contains(graph_.return_node())) ordered.push_back(graph_.return_node());
    return ordered;
  }

  // Returns the value in integers. Those of a constant are a new constant.
  Result<Value*> quantized(Value& value, const Quantum& quantum, const Node& reader) {
    if (const TensorData* data = fixed_floats(program_, method_, value)) {
      const std::string name = fmt::format("{}.int{}", input_spec(method_, value)->target.str(), bits_);
      const std::vector<float> floats = floats_of(*data);
      return constants_.add(method_, name,
                            bits_ == 8 ? integers_of<std::int8_t>(floats, data->type.sizes, quantum)
                                       : integers_of<std::int16_t>(floats, data->type.sizes, quantum));
    }
    Node* producer = value.producer();
    Builder b(graph_, producer == nullptr ? graph_.first() : producer->next());
    b.inherit(producer == nullptr ? reader : *producer);
    Value* integers = b.call("quantized_decomposed.quantize_per_tensor.default",
                             {&value, double{quantum.scale}, quantum.zero_point, least(), most(), dtype()});
    TRY_STATUS(b.status());
    return integers;
  }

  int least() const { return -(1 << (bits_ - 1)); }
  int most() const { return (1 << (bits_ - 1)) - 1; }
  ScalarType dtype() const { return bits_ == 8 ? ScalarType::I8 : ScalarType::I16; }

  template <typename T>
  TensorData integers_of(std::span<const float> floats, const Dims& sizes, const Quantum& quantum) const {
    std::vector<T> integers;
    const auto inverse = static_cast<float>(1 / double{quantum.scale});
    const auto zero_point = static_cast<float>(quantum.zero_point);
    for (const float x : floats)
      integers.push_back(static_cast<T>(std::clamp(std::nearbyint(x * inverse) + zero_point,
                                                   static_cast<float>(least()), static_cast<float>(most()))));
    return make_data<T>(dtype(), sizes, std::span<const T>(integers));
  }

  Program& program_;
  Method& method_;
  Graph& graph_;
  NewConstants constants_;
  int bits_;
};

// Rewrites a linear layer that run_decompositions() has decomposed: %x * %w.t() + %b.
Status write_as_linear(Program& program, Method& method, NewConstants& constants, Node& node) {
  const std::optional<Layer> layer = layer_of(node);
  if (!layer || layer->target != QuantizeRule::Target::Linear) return {};
  if (!layer->is_product && layer->reads_weight) return {};
  const TensorData* data = fixed_floats(program, method, *layer->weight);
  if (data == nullptr || data->type.rank() != 2) return {};
  Builder b(node.graph(), &node);
  b.inherit(node);
  Value* weight = b.own(layer->weight);
  if (layer->is_turned) {
    const std::string key(input_spec(method, *layer->weight)->target.str());
    weight = constants.add(method, key + ".t", turned(*data).contiguous());
  }
  Value* result = b.call("aten.linear.default", {layer->input, weight, layer->bias});
  TRY_STATUS(b.status());
  node.graph().replace_uses(*node.result(), result);
  node.graph().erase(node);
  return {};
}

Status write_products_as_linear(Program& program, Method& method,
                                const std::function<bool(const Node&)>& chooses) {
  NewConstants constants(program);
  for (Node& node : method.graph->nodes()) {
    if (chooses(node)) TRY_STATUS(write_as_linear(program, method, constants, node));
  }
  return {};
}

// Methods are calibrated one after the other: changes to buffers carry over from one to the next.
class StaticQuantizer {
 public:
  StaticQuantizer(Program& program, std::span<const Calibration> calibrations, const QuantizeRule& rule,
                  int jobs, const CalibrationProgress& progress, QuantizeResult& result)
      : program_(program),
        calibrations_(calibrations),
        rule_(rule),
        jobs_(jobs),
        progress_(progress),
        weights_(program),
        result_(result) {}

  Status run(Method& method, const std::function<bool(const Node&)>& chooses) {
    StaticPlan plan =
        plan_static(program_, method, rule_.has_all_ops ? StaticOps::All : StaticOps::Layers, chooses);
    plan.activation_bits = rule_.activation_bits;
    if (rule_.has_one_scale)
      for (ChannelWeight& weight : plan.weights) weight.axis = std::nullopt;
    result_.left.insert(result_.left.end(), plan.left.begin(), plan.left.end());
    if (plan.activations.empty()) return {};
    values_ += plan.activations.size();
    TRY(const Calibration* calibration, calibration_of(method, calibrations_, "static"));
    TRY(std::vector<Quantum> quanta,
        calibrate(program_, method, plan, *calibration, jobs_, state_, progress_));
    TRY_STATUS(write_channel_weights(program_, method, weights_, plan.weights, "static", jobs_, result_));
    return StaticRewriter(program_, method, rule_.activation_bits).run(plan, quanta);
  }

  std::size_t values() const { return values_; }

 private:
  Program& program_;
  std::span<const Calibration> calibrations_;
  const QuantizeRule& rule_;
  int jobs_;
  const CalibrationProgress& progress_;
  NewConstants weights_;  // shared by layers that several methods contain
  QuantizeResult& result_;
  ProgramState state_;
  std::size_t values_ = 0;
};

}  // namespace

Result<std::size_t> quantize_static(Program& program, std::span<const Calibration> calibrations,
                                    const std::function<bool(const Node&)>& chooses, const QuantizeRule& rule,
                                    int jobs, const CalibrationProgress& progress, QuantizeResult& result) {
  if (calibrations.empty())
    return failure("usage", "--quantize", "static requires calibration inputs", "--calibrate FILE.npz");
  TRY_STATUS(check_calibrated_methods(program, calibrations));
  if (rule.has_all_ops) TRY_STATUS(write_core_ops(program, chooses));
  for (auto& method : program.methods) {
    TRY_STATUS(write_products_as_linear(program, *method, chooses));
    fold_batch_norms(program, *method);
  }
  if (rule.has_all_ops) TRY_STATUS(write_integer_forms(program, chooses));
  StaticQuantizer quantizer(program, calibrations, rule, jobs, progress, result);
  for (auto& method : program.methods) TRY_STATUS(quantizer.run(*method, chooses));
  return quantizer.values();
}

}  // namespace depute
