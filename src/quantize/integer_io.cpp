#include "depute/compiler/integer_io.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "depute/program/op.h"
#include "ir/program_names.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view quantize_op = "quantized_decomposed.quantize_per_tensor.default";
constexpr std::string_view dequantize_op = "quantized_decomposed.dequantize_per_tensor.default";
constexpr std::string_view example = "for example all, inputs, output0 or forward:input0";
constexpr std::array<std::string_view, 3> port_words = {"all", "inputs", "outputs"};

// An input or output of a method.
struct Port {
  bool is_input = true;
  std::size_t index = 0;         // among the user's inputs or outputs
  std::size_t position = 0;      // in the graph's inputs or outputs
  const Value* value = nullptr;  // null: an output that is not a value

  std::string str() const { return fmt::format("{}{}", is_input ? "input" : "output", index); }
  bool is_float() const {
    return value != nullptr && value->type().is_tensor() && is_floating(value->tensor().dtype);
  }
};

std::vector<Port> inputs_of(const Method& method) {
  std::vector<Port> ports;
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    if (method.inputs[i].kind == InputSpec::Kind::UserInput)
      ports.push_back({true, ports.size(), i, method.graph->inputs()[i]});
  }
  return ports;
}

std::vector<Port> outputs_of(const Method& method) {
  std::vector<Port> ports;
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    const Argument& output = method.graph->outputs()[i];
    if (method.outputs[i].kind == OutputSpec::Kind::UserOutput)
      ports.push_back({false, ports.size(), i, output.is_value() ? output.as_value() : nullptr});
  }
  return ports;
}

bool selects(const IntegerIoRule& rule, const Port& port) {
  if (rule.which == "all") return port.is_float();
  if (rule.which == "inputs" || rule.which == "outputs")
    return port.is_float() && port.is_input == (rule.which == "inputs");
  return rule.which == port.str() || (port.is_input && port.value->name().str() == rule.which);
}

// Arguments of an op that quantizes or dequantizes with one scale; nullopt for any other node, and for a scale
// that the program computes.
std::optional<IntegerTensor> scale_of(const Node* node, std::string_view op) {
  if (node == nullptr || node->op() != op || node->def() == nullptr || !check_call(*node))
    return std::nullopt;
  const OpCall call(*node);
  for (std::string_view name : {"scale", "zero_point", "quant_min", "quant_max"})
    if (!call[name].is_number()) return std::nullopt;
  const auto integer = [&](std::string_view name) {
    return static_cast<std::int64_t>(call[name].as_double());
  };
  return IntegerTensor{.method = {},
                       .value = {},
                       .scale = call["scale"].as_double(),
                       .zero_point = integer("zero_point"),
                       .quant_min = integer("quant_min"),
                       .quant_max = integer("quant_max"),
                       .dtype = call["dtype"].as_scalar_type()};
}

bool is_same_scale(const IntegerTensor& a, const IntegerTensor& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point && a.quant_min == b.quant_min &&
         a.quant_max == b.quant_max && a.dtype == b.dtype;
}

class MethodRewriter {
 public:
  explicit MethodRewriter(Method& method) : method_(method), graph_(*method.graph) {}

  // Returns how the integers are made, or why they cannot be the input or output.
  Result<IntegerTensor> change(const Port& port) {
    TRY(IntegerTensor made, port.is_input ? change_input(port) : change_output(port));
    made.method = method_.name;
    made.is_input = port.is_input;
    made.index = port.index;
    return made;
  }

 private:
  Failure refusal(const Port& port, std::string_view why, const Node* node = nullptr) const {
    const std::string message = fmt::format(
        "{} cannot be integers: {}",
        port.value == nullptr ? port.str() : fmt::format("{} (%{})", port.str(), port.value->name().str()),
        why);
    const std::string where = fmt::format("method {}", method_.name.str());
    constexpr std::string_view hint =
        "name the inputs and outputs to change with --integer-io input0, output0, ...";
    return node == nullptr ? failure("integer_io", where, message, hint)
                           : node_failure(*node, "integer_io", message, hint, where);
  }

  Result<IntegerTensor> change_input(const Port& port) {
    Value& input = *graph_.own(*port.value);
    if (!port.is_float()) return refusal(port, "it is not a tensor of floats");
    const auto writes = [&](const OutputSpec& spec) {
      return spec.kind == OutputSpec::Kind::UserInputMutation && spec.target == input.name();
    };
    if (std::ranges::any_of(method_.outputs, writes)) return refusal(port, "the method writes to it");
    std::optional<IntegerTensor> made;
    std::vector<Node*> quantizes;
    for (const Use& use : input.uses()) {
      Node& user = *graph_.own(*use.user());
      const std::optional<IntegerTensor> one = scale_of(&user, quantize_op);
      if (user.is_return()) return refusal(port, "the method returns it");
      if (!one) return refusal(port, fmt::format("{} reads it as floats", user.op().str()), &user);
      if (made && !is_same_scale(*made, *one))
        return refusal(port, "it is quantized with more than one scale", &user);
      made = one;
      quantizes.push_back(&user);
    }
    if (!made) return refusal(port, "nothing reads it");
    TensorType type = input.tensor();
    type.dtype = made->dtype;
    graph_.set_type(input, tensor_type(type));
    for (Node* quantize : quantizes) {
      graph_.replace_uses(*quantize->result(), &input);
      graph_.erase(*quantize);
    }
    made->value = input.name();
    return *made;
  }

  Result<IntegerTensor> change_output(const Port& port) {
    if (!port.is_float()) return refusal(port, "it is not a tensor of floats");
    Node* dequantize = graph_.own(*port.value)->producer();
    std::optional<IntegerTensor> made = scale_of(dequantize, dequantize_op);
    if (dequantize == nullptr) return refusal(port, "it is an input or constant of the method");
    if (!made)
      return refusal(port, fmt::format("{} computes it as floats", dequantize->op().str()), dequantize);
    Value* integers = graph_.own(*OpCall(*dequantize).value("input"));
    std::vector<Argument> outputs(graph_.outputs().begin(), graph_.outputs().end());
    outputs[port.position] = Argument::of(integers);
    graph_.set_outputs(outputs);
    if (!dequantize->result()->has_uses()) graph_.erase(*dequantize);
    made->value = integers->name();
    return *made;
  }

  Method& method_;
  Graph& graph_;
};

// The rules, and which of them have selected something.
class Selection {
 public:
  explicit Selection(std::span<const IntegerIoRule> rules) : rules_(rules), is_used_(rules.size()) {}

  bool has(const Method& method, const Port& port) {
    bool has = false;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (!is_for(rules_[i], method) || !selects(rules_[i], port)) continue;
      has = is_used_[i] = true;
    }
    return has;
  }

  // Fails if a rule has selected nothing.
  Status check(const Program& program) const {
    const auto unused = std::ranges::find(is_used_, false);
    if (unused == is_used_.end()) return {};
    return nothing_selected(program, rules_[static_cast<std::size_t>(unused - is_used_.begin())]);
  }

 private:
  static bool is_for(const IntegerIoRule& rule, const Method& method) {
    return rule.method.empty() || method.name.str() == rule.method;
  }

  static Failure nothing_selected(const Program& program, const IntegerIoRule& rule) {
    std::vector<std::string> known(port_words.begin(), port_words.end());
    for (const auto& method : program.methods) {
      if (!is_for(rule, *method)) continue;
      for (const Port& port : inputs_of(*method)) {
        known.push_back(port.str());
        known.emplace_back(port.value->name().str());
      }
      for (const Port& port : outputs_of(*method)) known.push_back(port.str());
    }
    if (!rule.method.empty() && program.find_method(rule.method) == nullptr)
      return failure("usage", "--integer-io", fmt::format("there is no method '{}'", rule.method), example);
    if (std::ranges::find(port_words, rule.which) != port_words.end())
      return failure("usage", "--integer-io",
                     fmt::format("'{}': there are no {} that are floats", rule.which,
                                 rule.which == "all" ? "inputs or outputs" : rule.which));
    return failure(
        "usage", "--integer-io", fmt::format("there is no input or output '{}'", rule.which),
        did_you_mean(rule.which, known, fmt::format("expected one of {}", fmt::join(known, ", "))));
  }

  std::span<const IntegerIoRule> rules_;
  std::vector<bool> is_used_;
};

// Rewrites the selected ports and collects the refusals of all of them in one error.
class IntegerIo {
 public:
  explicit IntegerIo(std::span<const IntegerIoRule> rules) : selection_(rules) {}

  Result<std::vector<IntegerTensor>> run(Program& program) {
    for (auto& method : program.methods) {
      change(*method, inputs_of(*method));
      change(*method, outputs_of(*method));
    }
    TRY_STATUS(selection_.check(program));
    if (!refused_) return Failure(std::move(refused_).error());
    return std::move(made_);
  }

 private:
  void change(Method& method, const std::vector<Port>& ports) {
    for (const Port& port : ports) {
      if (!selection_.has(method, port)) continue;
      Result<IntegerTensor> tensor = MethodRewriter(method).change(port);
      if (tensor) {
        made_.push_back(*tensor);
      } else if (refused_) {
        refused_ = Failure(std::move(tensor).error());
      } else {
        refused_.error().details.push_back(tensor.error().message);
      }
    }
  }

  Selection selection_;
  std::vector<IntegerTensor> made_;
  Status refused_;
};

}  // namespace

std::vector<std::string> integer_io_words() {
  return {port_words.begin(), port_words.end()};
}

Result<IntegerIoRule> parse_integer_io_rule(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  IntegerIoRule rule;
  if (colon != text.npos) rule.method = text.substr(0, colon);
  rule.which = text.substr(colon == text.npos ? 0 : colon + 1);
  if (!rule.which.empty() && colon != 0) return rule;
  return failure("usage", "--integer-io", fmt::format("'{}' must have the form [METHOD:]WHICH", text),
                 example);
}

Result<std::vector<IntegerTensor>> make_integer_io(Program& program, std::span<const IntegerIoRule> rules) {
  const NameScope::Use use(names_to_edit(program));
  return IntegerIo(rules).run(program);
}

std::vector<ConstantMethod> config_methods(const IntegerTensor& tensor, const std::string& prefix) {
  const std::string name = fmt::format("{}{}{}_", prefix, tensor.is_input ? "input" : "output", tensor.index);
  const auto integer = [&](std::string_view key, std::int64_t value) {
    return ConstantMethod{.name = fmt::format("{}{}", name, key), .values = {value}};
  };
  return {{.name = name + "scale", .values = {tensor.scale}},
          integer("zp", tensor.zero_point),
          integer("quant_min", tensor.quant_min),
          integer("quant_max", tensor.quant_max),
          integer("dtype", executorch_number(tensor.dtype).value_or(0))};
}

std::vector<ConstantMethod> config_methods(std::span<const IntegerTensor> tensors) {
  std::vector<ConstantMethod> methods;
  for (const IntegerTensor& tensor : tensors) {
    for (ConstantMethod& method : config_methods(tensor, fmt::format("{}_", tensor.method.str())))
      methods.push_back(std::move(method));
  }
  return methods;
}

}  // namespace depute
