#include "quantize/static_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "quantize/constants.h"
#include "quantize/static_ops.h"

namespace depute {
namespace {

class StaticPlanner {
 public:
  StaticPlanner(Program& program, Method& method, StaticOps ops,
                const std::function<bool(const Node&)>& chooses)
      : program_(program),
        method_(method),
        graph_(*method.graph),
        ops_(ops),
        chooses_(chooses),
        constants_(program) {
    plan_.ops = ops;
  }

  StaticPlan run() {
    for (Node& node : graph_.nodes()) {
      const StaticRole role = role_of(node);
      if (has_weight(role)) add_layer(node, role);
      if (role == StaticRole::Arithmetic) add_arithmetic(node);
      if (role == StaticRole::Function) add_function(node);
    }
    for (Node& node : graph_.nodes()) {
      const StaticRole role = role_of(node);
      if (role == StaticRole::Pool) add_sharing(node, {OpCall(node).value("self")});
      if (role == StaticRole::Join) add_sharing(node, OpCall(node).values("tensors"));
      if (role == StaticRole::Choice) add_choice(node);
    }
    for (Node& node : graph_.nodes()) add_follower(node, role_of(node));
    if (ops_ == StaticOps::All) find_masks();
    collect();
    return std::move(plan_);
  }

 private:
  StaticRole role_of(const Node& node) const {
    const StaticRole role = static_role(node, ops_);
    return role == StaticRole::None || !chooses_(node) ? StaticRole::None : role;
  }

  // Returns the op's result. If only a relu reads it, returns the relu's result.
  const Value* output_of(const Node& node) const {
    const Value* result = node.result();
    if (!result->has_one_use()) return result;
    const Node& user = *(*result->uses().begin()).user();
    return !user.is_return() && static_role(user, ops_) == StaticRole::Relu ? user.result() : result;
  }

  void add_layer(Node& node, StaticRole role) {
    const OpCall call(node);
    const Value* input = call.value("input");
    const Value* weight = call.value("weight");
    if (!is_floats(input) || !is_floats(node.result()) || weight == nullptr) return;
    if (const auto reason = reason_against_channels(program_, method_, node, role)) {
      if (ops_ == StaticOps::Layers || !is_floats(weight)) return leave(node, *reason);
      read(node, weight);  // one scale for the whole weight, as an activation
    } else {
      plan_.weights.push_back({&node, graph_.own(*weight), channel_axis(role)});
    }
    read(node, input);
    outputs_.insert(output_of(node));
  }

  void leave(const Node& node, std::string_view reason) {
    plan_.left.push_back(fmt::format("%{}: {}", node.display_name(), reason));
  }

  // Adds a sum or product. A number operand becomes a constant tensor.
  void add_arithmetic(Node& node) {
    constexpr std::string_view names[] = {"self", "other"};
    if (!is_floats(node.result())) return;
    {
      const OpCall call(node);
      for (const std::string_view name : names) {
        const Argument& argument = call[name];
        const bool is_plain = argument.kind == Argument::Kind::Int || argument.kind == Argument::Kind::Float;
        if (is_plain ? std::abs(argument.as_double()) > largest_number
                     : !argument.is_value() || !is_floats(argument.as_value()))
          return;
        if (argument.is_value() && is_large_constant(*argument.as_value())) return;
      }
    }
    for (const std::string_view name : names) {
      if (!OpCall(node)[name].is_value()) make_constant(node, name);
    }
    const OpCall call(node);
    for (const std::string_view name : names) read(node, call.value(name));
    outputs_.insert(output_of(node));
  }

  // Adds an op that reads integers, and whose result has a scale of its own.
  void add_function(Node& node) {
    const std::vector<const Value*> inputs = floats_of_operands(node);
    for (const Value* input : inputs) read(node, input);
    if (inputs.empty() || !is_floats(node.result(0))) return;
    outputs_.insert(node.results().size() == 1 ? output_of(node) : node.result(0));
  }

  // Gives all floats that the op reads and makes one scale. A number among them becomes a constant.
  void add_choice(Node& node) {
    if (!is_floats(node.result(0))) return;
    std::vector<std::string_view> numbers;
    const OpCall call(node);
    for (const ArgDef& arg : node.def()->args) {
      const Argument& argument = call[arg.name.str()];
      const bool is_number = argument.kind == Argument::Kind::Int || argument.kind == Argument::Kind::Float;
      if (arg.type == ArgType::Tensor && is_number) numbers.push_back(arg.name.str());
    }
    for (const std::string_view name : numbers) make_constant(node, name);
    const std::vector<const Value*> inputs = floats_of_operands(node);
    if (inputs.empty()) return;
    for (const Value* result : node.results()) {
      if (!is_floats(result)) continue;
      share(result, node.result(0));
      outputs_.insert(result);
    }
    add_sharing(node, inputs);
  }

  // Adds an op that has integers if the op before it has, or, of StaticOps::All, was not part of it.
  void add_follower(Node& node, StaticRole role) {
    if (role != StaticRole::PassesOn && role != StaticRole::Relu) return;
    if (outputs_.contains(node.result())) return;
    if (ops_ == StaticOps::All) return add_function(node);
    const Value* input = OpCall(node).value(node.def()->args[0].name.str());
    if (input != nullptr && outputs_.contains(input)) add_sharing(node, {input});
  }

  static std::vector<const Value*> floats_of_operands(const Node& node) {
    std::vector<const Value*> floats;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      if (is_floats(node.operand(i))) floats.push_back(node.operand(i));
    }
    return floats;
  }

  void make_constant(Node& node, std::string_view name) {
    const auto number = static_cast<float>(OpCall(node)[name].as_double());
    const TensorData data = make_data<float>(ScalarType::F32, {}, std::span(&number, 1));
    set_argument(node, name, Argument::of(constants_.add(method_, fmt::format("number.{}", number), data)));
  }

  bool is_large_constant(const Value& value) const {
    const TensorData* data = fixed_floats(program_, method_, value);
    if (data == nullptr || data->type.numel() != 1) return false;
    return !(std::abs(double{floats_of(*data)[0]}) <= largest_number);
  }

  // Gives the inputs and the result one scale.
  void add_sharing(Node& node, const std::vector<const Value*>& inputs) {
    if (inputs.empty() || !is_floats(node.result(0)) || !std::ranges::all_of(inputs, is_floats)) return;
    for (const Value* input : inputs) {
      read(node, input);
      share(input, node.result(0));
    }
    outputs_.insert(node.result(0));
  }

  void read(Node& node, const Value* value) {
    std::vector<Node*>& readers = readers_[value];
    if (readers.empty() || readers.back() != &node) readers.push_back(&node);
  }

  // Finds values that numbers of a mask reach: the program's own, or constants, which it adds or chooses.
  void find_masks() {
    for (const Node& node : graph_.nodes()) {
      if (!carries_masks(node)) continue;
      for (const Value* result : node.results()) masked_.insert(result);
    }
  }

  bool carries_masks(const Node& node) {
    if (!passes_numbers_on(node)) return false;
    const OpCall call(node);
    for (const ArgDef& arg : node.def()->args) {
      const Argument& argument = call[arg.name.str()];
      const bool is_operand = arg.type == ArgType::Tensor || arg.name == "other" || arg.name == "value";
      if (is_operand && argument.is_number() && argument.as_double() <= largest_mask) return true;
      if (argument.is_value() && is_mask(*argument.as_value())) return true;
      if (arg.type == ArgType::Tensor && arg.is_list &&
          std::ranges::any_of(call.values(arg.name.str()),
                              [&](const Value* value) { return value != nullptr && is_mask(*value); }))
        return true;
    }
    return false;
  }

  bool is_mask(const Value& value) {
    if (masked_.contains(&value)) return true;
    const TensorData* data = fixed_floats(program_, method_, value);
    if (data == nullptr || !scanned_.insert(&value).second) return false;
    const bool is_found =
        std::ranges::any_of(floats_of(*data), [](float number) { return number <= largest_mask; });
    if (is_found) masked_.insert(&value);
    return is_found;
  }

  // --- groups of values with one scale: each value links to another of its group, the root to itself

  const Value* root_of(const Value* value) {
    const Value* other = others_.try_emplace(value, value).first->second;
    while (other != others_.at(other)) other = others_.at(other);
    others_.at(value) = other;
    return other;
  }
  void share(const Value* a, const Value* b) {
    const Value* root = root_of(a);
    others_.at(root) = root_of(b);
  }

  void collect() {
    for (Value* input : graph_.inputs()) collect(*input);
    for (Node& node : graph_.nodes()) {
      for (Value* result : node.results()) collect(*result);
    }
    plan_.groups = groups_.size();
  }
  void collect(Value& value) {
    const auto readers = readers_.find(&value);
    const bool is_output = outputs_.contains(&value);
    if (!is_output && readers == readers_.end()) return;
    const std::size_t group = groups_.try_emplace(root_of(&value), groups_.size()).first->second;
    plan_.activations.push_back({&value, group, is_output, masked_.contains(&value)});
    if (readers != readers_.end()) plan_.activations.back().readers = std::move(readers->second);
  }

  Program& program_;
  Method& method_;
  Graph& graph_;
  StaticOps ops_;
  const std::function<bool(const Node&)>& chooses_;
  NewConstants constants_;
  StaticPlan plan_;
  std::unordered_set<const Value*> outputs_;  // computed by ops with integer results
  std::unordered_set<const Value*> masked_;   // with numbers of masks
  std::unordered_set<const Value*> scanned_;  // constants whose numbers were looked at
  std::unordered_map<const Value*, std::vector<Node*>> readers_;
  std::unordered_map<const Value*, const Value*> others_;
  std::unordered_map<const Value*, std::size_t> groups_;  // by root
};

}  // namespace

StaticPlan plan_static(Program& program, Method& method, StaticOps ops,
                       const std::function<bool(const Node&)>& chooses) {
  return StaticPlanner(program, method, ops, chooses).run();
}

}  // namespace depute
