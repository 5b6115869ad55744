// Chooses layers, measures their weights, and inserts torchao's ops around them.
#include "depute/compiler/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "depute/program/builder.h"
#include "ir/program_names.h"
#include "normalize/passes.h"
#include "quantize/choose_rules.h"
#include "quantize/constants.h"
#include "quantize/dynamic_convolutions.h"
#include "quantize/layers.h"
#include "quantize/static.h"
#include "quantize/static_ops.h"
#include "support/parallel_for.h"
#include "support/try.h"

namespace depute {
namespace {

using Target = QuantizeRule::Target;

// A matrix to quantize, shared by all layers that use it.
struct Weight {
  std::string name;  // name of the integer data
  TensorData data;   // dense f32, [out, in]; a transposed weight is computed when it is read
  int bits = 8;
  std::int64_t group = 0;  // in elements, never 0
  double sqnr = 0;
  bool is_finite = true;

  std::size_t groups() const { return count() / static_cast<std::size_t>(group); }
  std::size_t count() const { return data.byte_size() / sizeof(float); }
  float least() const { return bits == 8 ? -128.0F : -8.0F; }
  float most() const { return bits == 8 ? 127.0F : 7.0F; }
};

// Number of elements that the loops below process at a time, in a form that compilers vectorize.
constexpr std::size_t lanes = 8;

// Rounds to nearest, ties to even, for small numbers only: adding a large number removes the fraction.
float rounded(float x) {
  constexpr float large = 12582912.0F;  // 1.5 * 2^23
  return (x + large) - large;
}

float integer_of(float element, float inverse, const Weight& weight) {
  const float steps = element * inverse;
  const float below = steps < weight.most() ? steps : weight.most();
  return rounded(below > weight.least() ? below : weight.least());
}

float largest_of(std::span<const float> elements) {
  float largest[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= elements.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const float size = std::abs(elements[i + lane]);
      largest[lane] = size > largest[lane] ? size : largest[lane];
    }
  }
  for (; i < elements.size(); ++i) largest[0] = std::max(largest[0], std::abs(elements[i]));
  return *std::max_element(largest, largest + lanes);
}

struct Power {
  float signal = 0, noise = 0;
};
Power power_of(std::span<const float> elements, float scale, const Weight& weight) {
  float signal[lanes] = {};
  float noise[lanes] = {};
  const float inverse = 1.0F / scale;
  const auto add = [&](float element, std::size_t lane) {
    const float error = element - integer_of(element, inverse, weight) * scale;
    signal[lane] += element * element;
    noise[lane] += error * error;
  };
  std::size_t i = 0;
  for (; i + lanes <= elements.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) add(elements[i + lane], lane);
  }
  for (; i < elements.size(); ++i) add(elements[i], 0);
  Power power;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    power.signal += signal[lane];
    power.noise += noise[lane];
  }
  return power;
}

// Reads groups of elements. Each group is copied, since a file's bytes may be unaligned.
class Groups {
 public:
  Groups(const Weight& weight, std::size_t first, std::size_t count)
      : made_(weight.data.storage->is_lazy() ? weight.data.storage->produce() : std::vector<std::byte>()),
        bytes_((made_.empty() ? weight.data.dense_bytes() : made_)
                   .subspan(first * sizeof(float), count * sizeof(float))),
        elements_(static_cast<std::size_t>(weight.group)) {}
  explicit Groups(const Weight& weight) : Groups(weight, 0, weight.count()) {}
  std::size_t count() const { return bytes_.size() / (elements_.size() * sizeof(float)); }
  std::span<const float> operator[](std::size_t i) {
    const std::size_t size = elements_.size() * sizeof(float);
    std::memcpy(elements_.data(), bytes_.data() + i * size, size);
    return elements_;
  }

 private:
  std::vector<std::byte> made_;
  std::span<const std::byte> bytes_;
  std::vector<float> elements_;
};

// torchao's symmetric scale: the largest magnitude maps to half the integer range.
float scale_of(std::span<const float> elements, const Weight& weight) {
  const float half_range = (weight.most() - weight.least()) / 2;
  return std::max(largest_of(elements) / half_range, std::numeric_limits<float>::min());
}

// Scales are not stored, since they would take much memory. They are recomputed when data are written.
void measure(Weight& weight) {
  Groups groups(weight);
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < groups.count(); ++i) {
    const std::span<const float> elements = groups[i];
    const Power power = power_of(elements, scale_of(elements, weight), weight);
    signal += double{power.signal};
    noise += double{power.noise};
  }
  weight.is_finite = std::isfinite(signal) && std::isfinite(noise);
  weight.sqnr = noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

std::vector<std::byte> scales(const Weight& weight) {
  Groups groups(weight);
  std::vector<std::byte> bytes(groups.count() * sizeof(float));
  for (std::size_t i = 0; i < groups.count(); ++i) {
    const float scale = scale_of(groups[i], weight);
    std::memcpy(&bytes[i * sizeof scale], &scale, sizeof scale);
  }
  return bytes;
}

// Returns `count` integers from `first` on. Both are multiples of the group size.
std::vector<std::byte> integers(const Weight& weight, std::size_t first, std::size_t count) {
  Groups groups(weight, first, count);
  const auto size = static_cast<std::size_t>(weight.group);
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < groups.count(); ++i) {
    const std::span<const float> elements = groups[i];
    const float inverse = 1.0F / scale_of(elements, weight);
    std::byte* to = &bytes[i * size];
    for (std::size_t k = 0; k < size; ++k)
      to[k] = static_cast<std::byte>(static_cast<std::int32_t>(integer_of(elements[k], inverse, weight)));
  }
  return bytes;
}

// A layer that will be quantized, and its rule.
struct SelectedLayer {
  Method* method;
  Node* node;
  const QuantizeRule* rule;
  std::size_t weight;  // index in weights_
  Name key;
};

class Quantizer {
 public:
  // Adds to `result`.
  Quantizer(Program& program, std::span<const QuantizeRule> rules, QuantizeResult& result)
      : program_(program), rules_(rules), result_(result), constants_(program) {}
  Status run(int jobs);

 private:
  void choose(Method& method, Node& node);
  std::optional<std::string> reason_against(const Method& method, const Layer& layer,
                                            const QuantizeRule& rule) const;
  Status rewrite(const SelectedLayer& layer);
  Value* dequantized(Builder& b, Method& method, const Weight& weight);
  Value* dynamic_rows(Builder& b, Value* x, const Node& before);

  Program& program_;
  std::span<const QuantizeRule> rules_;
  QuantizeResult& result_;
  std::vector<Weight> weights_;
  std::map<std::string, std::size_t> known_weights_;  // by key and scheme
  std::vector<SelectedLayer> selected_;
  std::unordered_map<const Value*, Value*> rows_;  // inputs that are quantized already
  NewConstants constants_;
};

// Returns why the weight is not quantized, or nullopt if it can be.
std::optional<std::string> Quantizer::reason_against(const Method& method, const Layer& layer,
                                                     const QuantizeRule& rule) const {
  const Value& weight = *layer.weight;
  const TensorData* data = constant_data(program_, method, weight);
  if (data == nullptr || is_mutated(method, *input_spec(method, weight)))
    return "its weight must be a constant";
  if (may_be_written(weight)) return "its weight may be written to";
  if (data->type.dtype != ScalarType::F32)
    return fmt::format("its weight is {}; expected f32", name(data->type.dtype));
  if (data->type.rank() != 2 || data->type.numel() == 0) return "its weight must have rank 2";
  const std::int64_t columns = data->type.sizes[layer.is_turned ? 0 : 1].value();
  if (rule.group != 0 && columns % rule.group != 0)
    return fmt::format("rows of {} elements cannot be divided into groups of {}", columns, rule.group);
  return std::nullopt;
}

// True if a static rule has quantized the layer.
bool is_quantized(const Layer& layer) {
  const Node* maker = layer.weight->producer();
  return maker != nullptr && maker->def() != nullptr && maker->def()->is(OpFlag::Quantization);
}

void Quantizer::choose(Method& method, Node& node) {
  const std::optional<Layer> layer = layer_of(node);
  if (!layer || is_quantized(*layer)) return;
  if (layer->is_product && constant_data(program_, method, *layer->weight) == nullptr) return;
  const auto chooses = [&](const QuantizeRule& rule) {
    return rule.target == layer->target && !rule.pins.pin_of(node);
  };
  const auto rule = std::ranges::find_if(rules_, chooses);
  if (rule == rules_.end()) return;
  if (const auto reason = reason_against(method, *layer, *rule)) {
    result_.left.push_back(fmt::format("%{}: {}", node.display_name(), *reason));
    return;
  }
  TensorData data = *constant_data(program_, method, *layer->weight);
  if (layer->is_turned) data = turned(data);
  const Name key = input_spec(method, *layer->weight)->target;
  const std::int64_t group = rule->group == 0 ? data.type.sizes[1].value() : rule->group;
  const std::string name =
      fmt::format("{}{}.int{}.{}", key.str(), layer->is_turned ? ".t" : "", rule->weight_bits, group);
  auto [known, is_new] = known_weights_.try_emplace(name, weights_.size());
  if (is_new)
    weights_.push_back({.name = name, .data = data.contiguous(), .bits = rule->weight_bits, .group = group});
  selected_.push_back({&method, &node, &*rule, known->second, key});
}

// Quantizes and dequantizes x per row in i8, with torchao's ops, once for all layers that read x.
Value* Quantizer::dynamic_rows(Builder& b, Value* x, const Node& before) {
  auto [known, is_new] = rows_.try_emplace(x, nullptr);
  if (!is_new) return known->second;
  b.inherit(before);
  std::vector<SymInt> block(x->tensor().rank(), SymInt(1));
  block.back() = x->tensor().sizes.back();
  const Argument none = Argument::none();
  const std::vector<Value*> chosen =
      b.call_all("torchao.choose_qparams_affine.default",
                 {x, "ASYMMETRIC", block, ScalarType::I8, -128, 127, none, none, ScalarType::I8});
  if (b.failed()) return nullptr;
  Value* rows =
      b.call("torchao.quantize_affine.default", {x, block, chosen[0], chosen[1], ScalarType::I8, -128, 127});
  known->second = b.call("torchao.dequantize_affine.default",
                         {rows, block, chosen[0], chosen[1], ScalarType::I8, -128, 127});
  return known->second;
}

// Returns the dequantized weight for the layer. Its integers and scales are computed when they are written.
Value* Quantizer::dequantized(Builder& b, Method& method, const Weight& weight) {
  const Dims& sizes = weight.data.type.sizes;
  const auto make_part = [weight](std::size_t first, std::size_t size) {
    return integers(weight, first, size);
  };
  // lazy data are produced as a whole, so they are not produced again for each part
  const bool is_whole = weight.data.storage->is_lazy();
  const TensorData integer_data{
      .type = make_tensor(ScalarType::I8, sizes),
      .storage =
          is_whole
              ? Storage::lazy(weight.count(), [=, count = weight.count()] { return make_part(0, count); })
              : Storage::lazy_parts(weight.count(), static_cast<std::size_t>(weight.group), make_part)};
  const Dims blocks = {sizes[0], SymInt(sizes[1].value() / weight.group)};
  const TensorData scale_data{
      .type = make_tensor(ScalarType::F32, blocks),
      .storage = Storage::lazy(weight.groups() * sizeof(float), [weight] { return scales(weight); })};
  Value* own_integers = constants_.add(method, weight.name, integer_data);
  Value* own_scales = constants_.add(method, weight.name + ".scales", scale_data);
  const std::vector<std::int64_t> block = {1, weight.group};
  return b.call("torchao.dequantize_affine.default",
                {own_integers, block, own_scales, Argument::none(), ScalarType::I8,
                 static_cast<int>(weight.least()), static_cast<int>(weight.most())});
}

Status Quantizer::rewrite(const SelectedLayer& selected) {
  const Weight& weight = weights_[selected.weight];
  Node& node = *selected.node;
  const Layer layer = *layer_of(node);
  const std::size_t scale_size = selected.rule->group == 0 ? sizeof(float) : 2;
  result_.layers.push_back(
      {.method = selected.method->name,
       .node = node.display_symbol(),
       .weight = selected.key,
       .module = node.source == nullptr ? std::string() : std::string(node.source->module_path.str()),
       .scheme = selected.rule->group == 0
                     ? selected.rule->scheme
                     : fmt::format("{}:group={}", selected.rule->scheme, selected.rule->group),
       .float_bytes = weight.count() * sizeof(float),
       .integer_bytes =
           weight.count() * static_cast<std::size_t>(weight.bits) / 8 + weight.groups() * scale_size,
       .sqnr = weight.sqnr});

  Builder b(node.graph(), &node);
  b.inherit(node);
  Value* floats = dequantized(b, *selected.method, weight);
  Value* x = b.own(layer.input);
  Value* rows = x;
  if (selected.rule->has_dynamic_input && x->tensor().rank() > 0) rows = dynamic_rows(b, x, node);
  TRY_STATUS(b.status());
  if (layer.is_product || !layer.reads_weight) {
    Value* result = b.call("aten.linear.default", {rows, floats, layer.bias});
    TRY_STATUS(b.status());
    node.graph().replace_uses(*node.result(), result);
    node.graph().erase(node);
    return {};
  }
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    if (node.operand(i) == layer.weight) {
      node.graph().set_operand(node, i, floats);
    } else if (node.operand(i) == x) {
      node.graph().set_operand(node, i, rows);
    }
  }
  return {};
}

std::string_view name_of(Target target) {
  switch (target) {
    case Target::Linear:
      return "linear layer";
    case Target::Embedding:
      return "embedding";
    case Target::Convolution:
      return "convolution";
    case Target::Static:
    case Target::Auto:
      return "layer";
  }
  return "layer";
}

// The error for a rule that matches no layer.
Failure nothing_chosen(const QuantizeRule& rule, const QuantizeResult& result) {
  return failure("quantize", "", fmt::format("no {} was quantized to {}", name_of(rule.target), rule.scheme),
                 result.left.empty() ? "this rule selects no node of the program" : result.left[0]);
}

Status Quantizer::run(int jobs) {
  for (auto& method : program_.methods) {
    for (Node& node : method->graph->nodes()) choose(*method, node);
  }
  for (const QuantizeRule& rule : rules_) {
    const bool is_used =
        std::ranges::any_of(selected_, [&](const SelectedLayer& layer) { return layer.rule == &rule; });
    const bool is_for_layers = rule.target == Target::Linear || rule.target == Target::Embedding;
    if (!is_used && is_for_layers && !rule.is_optional) return nothing_chosen(rule, result_);
  }
  parallel_for(weights_.size(), jobs, [&](std::size_t i) { measure(weights_[i]); });
  for (const SelectedLayer& layer : selected_) {
    if (weights_[layer.weight].is_finite) {
      TRY_STATUS(rewrite(layer));
    } else {
      result_.left.push_back(
          fmt::format("%{}: its weight has infinities or NaNs", layer.node->display_name()));
    }
  }
  return {};
}

// Returns the kind of rule that applies to the node, or nullopt if only static rules do.
std::optional<Target> target_of(const Node& node) {
  if (is_convolution(static_role(node))) return Target::Convolution;
  const std::optional<Layer> layer = layer_of(node);
  return layer ? std::optional(layer->target) : std::nullopt;
}

// True if the first rule that matches the node has the kind `target`.
bool is_for(Target target, std::span<const QuantizeRule> rules, const Node& node) {
  const std::optional<Target> own = target_of(node);
  const auto chooses = [&](const QuantizeRule& rule) {
    return (rule.target == Target::Static || rule.target == own) && !rule.pins.pin_of(node);
  };
  const auto rule = std::ranges::find_if(rules, chooses);
  return rule != rules.end() && rule->target == target;
}

// Functionalizes first. Otherwise an in-place op such as relu_ could change the input of a later layer, or
// rows that are already quantized.
Status make_functional(Program& program) {
  const NormalizeOptions options;
  TRY_STATUS(inline_wrappers(program, options));
  TRY_STATUS(simplify_sizes(program, options));
  TRY_STATUS(drop_assertions(program, options));
  TRY_STATUS(functionalize(program, options));
  return remove_dead_code(program, options);
}

Status run_static(Program& program, std::span<const QuantizeRule> rules, int jobs,
                  std::span<const Calibration> calibrations, const CalibrationProgress& progress,
                  QuantizeResult& result) {
  const auto rule = std::ranges::find(rules, Target::Static, &QuantizeRule::target);
  if (rule == rules.end()) {
    if (calibrations.empty()) return {};
    return failure("usage", "--calibrate", "calibration inputs are given, but no rule uses them",
                   "--quantize static, or auto:sqnr>=30");
  }
  for (const QuantizeRule& each : rules) {
    if (each.target != Target::Static) continue;
    if (each.has_one_scale != rule->has_one_scale)
      return failure("usage", "--quantize",
                     "the static rules differ in weights=", "give all of them weights=tensor, or none");
    if (each.has_all_ops != rule->has_all_ops)
      return failure("usage", "--quantize",
                     "the static rules differ in ops=", "give all of them ops=all, or none");
    if (each.activation_bits != rule->activation_bits)
      return failure("usage", "--quantize",
                     "the static rules differ in activations=", "give all of them activations=16, or none");
  }
  const auto chooses = [rules](const Node& node) { return is_for(Target::Static, rules, node); };
  TRY(const std::size_t values,
      quantize_static(program, calibrations, chooses, *rule, jobs, progress, result));
  const bool is_used = !result.layers.empty() || (rule->has_all_ops && values > 0);
  return is_used || rule->is_optional ? Status() : Status(nothing_chosen(*rule, result));
}

Status run_convolutions(Program& program, std::span<const QuantizeRule> rules, int jobs,
                        QuantizeResult& result) {
  const auto rule = std::ranges::find(rules, Target::Convolution, &QuantizeRule::target);
  if (rule == rules.end()) return {};
  const auto chooses = [rules](const Node& node) { return is_for(Target::Convolution, rules, node); };
  const std::size_t before = result.layers.size();
  TRY_STATUS(quantize_convolutions(program, chooses, jobs, result));
  const bool is_unused = result.layers.size() == before && !rule->is_optional;
  return is_unused ? Status(nothing_chosen(*rule, result)) : Status();
}

}  // namespace

Result<QuantizeResult> quantize(Program& program, std::span<const QuantizeRule> rules, int jobs,
                                std::span<const Calibration> calibrations,
                                const CalibrationProgress& progress) {
  const NameScope::Use use(names_to_edit(program));
  QuantizeResult result;
  for (const QuantizeRule& rule : rules) TRY_STATUS(rule.pins.check_known(program));
  if (!rules.empty()) TRY_STATUS(make_functional(program));
  std::vector<QuantizeRule> chosen;
  if (const auto found = std::ranges::find(rules, Target::Auto, &QuantizeRule::target);
      found != rules.end()) {
    if (rules.size() > 1)
      return failure("usage", "--quantize",
                     fmt::format("{} chooses the rules, so there can be no other", found->text));
    TRY(result.chosen, choose_rules(program, *found, calibrations, jobs, progress));
    for (const std::string& text : result.chosen->texts) {
      TRY(chosen.emplace_back(), parse_quantize_rule(text));
    }
    rules = chosen;
    calibrations = {};
  }
  TRY_STATUS(run_static(program, rules, jobs, calibrations, progress, result));
  TRY_STATUS(run_convolutions(program, rules, jobs, result));
  if (!rules.empty()) TRY_STATUS(Quantizer(program, rules, result).run(jobs));
  return result;
}

}  // namespace depute
