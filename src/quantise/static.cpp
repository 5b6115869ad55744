#include "quantise/static.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>

#include "depute/builder.h"
#include "normalise/passes.h"
#include "quantise/calibrate.h"
#include "quantise/constants.h"
#include "quantise/fold_batch_norms.h"
#include "quantise/layers.h"
#include "support/try.h"

namespace depute {
namespace {

// Integers of activations; weights leave out the least, so that they are symmetric.
constexpr int least_integer = -128;
constexpr int most_integer = 127;

// The channels of a weight: which one element i belongs to, and their scales.
struct Channels {
  std::size_t inner = 1;  // elements behind the channels' dimension
  std::vector<float> scales = {};

  std::size_t of(std::size_t i) const { return i / inner % scales.size(); }
};

Channels channels_of(const Dims& sizes, std::size_t axis, std::span<const float> weights) {
  Channels channels;
  for (std::size_t dim = axis + 1; dim < sizes.size(); ++dim)
    channels.inner *= static_cast<std::size_t>(sizes[dim].value());
  channels.scales.resize(static_cast<std::size_t>(sizes[axis].value()));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    float& largest = channels.scales[channels.of(i)];
    largest = std::max(largest, std::abs(weights[i]));
  }
  for (float& scale : channels.scales) scale = std::max(scale / most_integer, least_scale);
  return channels;
}

float nearest(float x, float least, float most) {
  return std::clamp(std::nearbyint(x), least, most);
}

// As torch quantises: by the inverse of the scale.
std::byte weight_integer(float x, float scale) {
  return static_cast<std::byte>(static_cast<int>(nearest(x * (1 / scale), -most_integer, most_integer)));
}

std::vector<std::byte> weight_integers(const TensorData& data, std::size_t axis) {
  const std::vector<float> weights = floats_of(data);
  const Channels channels = channels_of(data.type.sizes, axis, weights);
  std::vector<std::byte> integers(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    integers[i] = weight_integer(weights[i], channels.scales[channels.of(i)]);
  return integers;
}

double sqnr_of(std::span<const float> weights, const Channels& channels) {
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float scale = channels.scales[channels.of(i)];
    const auto integer = static_cast<float>(static_cast<std::int8_t>(weight_integer(weights[i], scale)));
    const double error = double{weights[i]} - double{integer * scale};
    signal += double{weights[i]} * double{weights[i]};
    noise += error * error;
  }
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

class StaticRewriter {
 public:
  StaticRewriter(Program& program, Method& method, QuantiseResult& result)
      : program_(program), method_(method), graph_(*method.graph), constants_(program), result_(result) {}

  Status run(const StaticPlan& plan, std::span<const Quantum> quanta) {
    for (const StaticPlan::Weight& weight : plan.weights) TRY_STATUS(rewrite(weight));
    for (const StaticPlan::Activation& activation : plan.activations)
      TRY_STATUS(rewrite(activation, quanta[activation.group]));
    return {};
  }

 private:
  Status rewrite(const StaticPlan::Weight& weight) {
    Node& layer = *weight.layer;
    const Symbol key = input_spec(method_, *weight.value)->target;
    const TensorData data = *constant_data(program_, method_, *weight.value);
    const std::vector<float> floats = floats_of(data);
    const Channels channels = channels_of(data.type.sizes, weight.axis, floats);
    const std::string name = fmt::format("{}.int8.{}", key.str(), weight.axis);
    const TensorData integers{.type = make_tensor(ScalarType::I8, data.type.sizes),
                              .storage = Storage::lazy(floats.size(), [data, axis = weight.axis] {
                                return weight_integers(data, axis);
                              })};
    const Dims sizes = {data.type.sizes[weight.axis]};
    const std::vector<std::int64_t> zeros(channels.scales.size());
    Value* own_integers = constants_.add(method_, name, integers);
    Value* own_scales =
        constants_.add(method_, name + ".scales", make_data<float>(ScalarType::F32, sizes, channels.scales));
    Value* own_zeros =
        constants_.add(method_, name + ".zeros", make_data<std::int64_t>(ScalarType::I64, sizes, zeros));
    Builder b(graph_, &layer);
    b.inherit(layer);
    Value* back = b.call("quantized_decomposed.dequantize_per_channel.default",
                         {own_integers, own_scales, own_zeros, static_cast<std::int64_t>(weight.axis),
                          -most_integer, most_integer, ScalarType::I8});
    TRY_STATUS(b.status());
    set_argument(layer, "weight", Argument::of(back));
    result_.layers.push_back(
        {.method = method_.name,
         .node = Symbol(layer.display_name()),
         .weight = key,
         .module = layer.source == nullptr ? std::string() : std::string(layer.source->module_path.str()),
         .scheme = "static",
         .float_bytes = floats.size() * sizeof(float),
         .integer_bytes = floats.size() + channels.scales.size() * sizeof(float),
         .sqnr = sqnr_of(floats, channels)});
    return {};
  }

  Status rewrite(const StaticPlan::Activation& activation, const Quantum& quantum) {
    std::vector<Node*> readers = activation.readers;
    if (activation.is_for_all) readers = users_of(*activation.value);
    if (readers.empty()) return {};
    TRY(Value * integers, quantised(*activation.value, quantum, *readers.front()));
    for (Node* reader : readers) {
      Builder b(graph_, reader->is_return() ? nullptr : reader);
      if (!reader->is_return()) b.inherit(*reader);
      if (reader->is_return() && activation.value->producer() != nullptr)
        b.inherit(*activation.value->producer());
      Value* back = b.call(
          "quantized_decomposed.dequantize_per_tensor.default",
          {integers, double{quantum.scale}, quantum.zero_point, least_integer, most_integer, ScalarType::I8});
      TRY_STATUS(b.status());
      for (std::size_t i = 0; i < reader->operand_count(); ++i) {
        if (reader->operand(i) == activation.value) graph_.set_operand(*reader, i, back);
      }
    }
    return {};
  }

  // Each once, in the order of the graph.
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

  // The value's integers: those of a constant are one themselves.
  Result<Value*> quantised(Value& value, const Quantum& quantum, const Node& reader) {
    if (const TensorData* data = fixed_floats(program_, method_, value)) {
      std::vector<std::byte> integers;
      const auto inverse = static_cast<float>(1 / double{quantum.scale});
      const auto zero_point = static_cast<float>(quantum.zero_point);
      for (const float x : floats_of(*data))
        integers.push_back(static_cast<std::byte>(static_cast<int>(
            std::clamp<float>(std::nearbyint(x * inverse) + zero_point, least_integer, most_integer))));
      const std::string name = fmt::format("{}.int8", input_spec(method_, value)->target.str());
      return constants_.add(method_, name,
                            make_data(make_tensor(ScalarType::I8, data->type.sizes), integers));
    }
    Node* producer = value.producer();
    Builder b(graph_, producer == nullptr ? graph_.first() : producer->next());
    b.inherit(producer == nullptr ? reader : *producer);
    Value* integers = b.call(
        "quantized_decomposed.quantize_per_tensor.default",
        {&value, double{quantum.scale}, quantum.zero_point, least_integer, most_integer, ScalarType::I8});
    TRY_STATUS(b.status());
    return integers;
  }

  Program& program_;
  Method& method_;
  Graph& graph_;
  NewConstants constants_;
  QuantiseResult& result_;
};

// A linear layer in another form, as run_decompositions() leaves it: %x * %w.t() + %b.
Status write_as_linear(Program& program, Method& method, NewConstants& constants, Node& node) {
  const std::optional<Layer> layer = layer_of(node);
  if (!layer || layer->target != QuantiseRule::Target::Linear) return {};
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

// Mutation is undone first: what a relu_ writes is then what the next layer reads.
Status make_functional(Program& program) {
  const NormaliseOptions options;
  TRY_STATUS(inline_wrappers(program, options));
  TRY_STATUS(simplify_sizes(program, options));
  TRY_STATUS(drop_assertions(program, options));
  TRY_STATUS(functionalise(program, options));
  return remove_dead_code(program, options);
}

}  // namespace

Status quantise_static(Program& program, const Calibration& calibration,
                       const std::function<bool(const Node&)>& chooses, int jobs, QuantiseResult& result) {
  if (calibration.arrays.empty())
    return failure("usage", "--quantize", "static needs inputs to run the program on",
                   "--calibrate FILE.npz");
  if (program.methods.size() != 1)
    return failure("quantise", "", "static takes programs of one method",
                   "lower each on its own: calibration inputs are those of one");
  TRY_STATUS(make_functional(program));
  Method& method = *program.methods.front();
  TRY_STATUS(write_products_as_linear(program, method, chooses));
  fold_batch_norms(program, method);
  StaticPlan plan = plan_static(program, method, chooses);
  result.left.insert(result.left.end(), plan.left.begin(), plan.left.end());
  if (plan.activations.empty()) return {};
  TRY(std::vector<Quantum> quanta, calibrate(program, method, plan, calibration, jobs));
  return StaticRewriter(program, method, result).run(plan, quanta);
}

}  // namespace depute
