// Computes values at compile time that do not depend on the user's inputs.
//
//   method f(%w: f32[4, 8] = param "w", %x: f32[2, 8]) {
//     %t: f32[8, 4] = aten.permute.default(%w, [1, 0])
//     %y: f32[2, 4] = aten.mm.default(%x, %t)
//
//   method f(%x: f32[2, 8], %t_1: f32[8, 4] = constant "t") {        with "t" a view of w's storage
//     %y: f32[2, 4] = aten.mm.default(%x, %t_1)
//
// New constants follow the other inputs; constant inputs may stand anywhere. Bodies of control flow receive
// them as operands, and values that are equal in all iterations are computed once. Large results are computed
// lazily, when the file is written. Integer weights stay integers.
#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/interpret.h"
#include "depute/program/op.h"
#include "normalize/bodies/body_operands.h"
#include "normalize/mutated_data.h"
#include "normalize/passes.h"

namespace depute {
namespace {

// A node is not folded if its results exceed this many bytes and are more than max_folded_growth times its
// operands.
constexpr std::size_t max_folded_bytes = std::size_t{16} << 20;
constexpr std::size_t max_folded_growth = 4;
// All results that are in use at a time may have this many bytes, and this many for each byte of the program's data: a
// file of 1 KB that doubles a constant 30 times is not folded to 1 TB. Nodes beyond that stay.
constexpr std::size_t max_all_folded_bytes = std::size_t{64} << 20;
constexpr std::size_t max_all_folded_growth = 16;
// Maximum depth of lazy constants that depend on each other; the next one is computed at once.
constexpr int max_folded_depth = 64;

using DataKeys = std::unordered_set<Name>;

bool is_same(const TensorData& a, const TensorData& b) {
  return a.storage == b.storage && a.offset == b.offset && a.type == b.type;
}

Argument as_literal(const RuntimeValue& content) {
  if (const auto* number = std::get_if<std::int64_t>(&content)) return Argument::of(*number);
  if (const auto* truth = std::get_if<bool>(&content)) return Argument::of(*truth);
  return Argument::of(std::get<double>(content));
}

RuntimeValue as_content(const Argument& number) {
  if (number.is_int()) return number.as_int();
  if (number.kind == Argument::Kind::Bool) return number.as_bool();
  return number.as_double();
}

// True if the result is a tensor of integers. Its readers keep the pattern that backends look for.
bool is_quantized(const Node& node) {
  const Type& type = node.result(0)->type();
  return node.results().size() == 1 && type.is_tensor() && !is_floating(type.tensor.dtype);
}

std::size_t max_bytes_of_all(const Program& program) {
  std::unordered_set<const Storage*> storages;
  std::size_t bytes = 0;
  for (const auto& [key, data] : program.data) {
    if (data.storage != nullptr && storages.insert(data.storage.get()).second) bytes += data.storage->size();
  }
  return max_all_folded_bytes + bytes * max_all_folded_growth;
}

// Known contents (tensors and numbers) of inputs of a method's graph and its bodies.
using KnownInputs = std::unordered_map<const Value*, RuntimeValue>;

class Folder {
 public:
  // Results with more bytes than `bytes_left` are not folded; the bytes of others are subtracted from it while they
  // are in use.
  Folder(Program& program, Method& method, BodyOperands& operands, KnownInputs& inputs, Graph& graph,
         std::size_t& bytes_left)
      : program_(program),
        method_(method),
        operands_(operands),
        inputs_(inputs),
        graph_(graph),
        bytes_left_(bytes_left) {}

  void run(const DataKeys& mutated) {
    if (Node* owner = operands_.owner(graph_)) {
      read_operands(*owner);
    } else {
      read_constants(mutated);
    }
    for (const Value* input : graph_.inputs()) {
      if (auto content = inputs_.find(input); content != inputs_.end()) know(*input, content->second, 0);
    }
    is_folded_.assign(graph_.node_ids(), false);
    for (Node& node : graph_.nodes()) is_folded_[node.id()] = evaluate(node);
    for (Node* node : computed_ | std::views::reverse) {
      if (std::ranges::none_of(node->results(), [&](Value* result) { return has_live_use(*result); }))
        is_folded_[node->id()] = true;
    }
    std::vector<Node*> folded;
    for (Node& node : graph_.nodes()) {
      if (is_folded_[node.id()]) folded.push_back(&node);
    }
    for (Node* node : folded) {
      for (Value* result : node->results()) {
        if (has_live_use(*result)) replace(*result);
      }
    }
    for (Node* node : folded | std::views::reverse) graph_.erase(*node);
  }

 private:
  void read_constants(const DataKeys& mutated) {
    for (const Value* input : graph_.inputs()) {
      const InputSpec& spec = method_.inputs[input->index()];
      if (!spec.has_data() || mutated.contains(spec.target)) continue;
      const TensorData* data = program_.find_data(spec.target);
      if (data != nullptr && !data->storage->is_elided()) inputs_.emplace(input, *data);
    }
  }

  // Reads the operands of a body that are equal in all its iterations.
  void read_operands(const Node& owner) {
    std::span<const Argument> operands = body_operands(owner);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Value* input = body_input(owner, graph_, i);
      if (operands[i].is_number()) {
        inputs_.emplace(input, as_content(operands[i]));
      } else if (operands[i].is_value()) {
        auto content = inputs_.find(operands[i].as_value());
        if (content != inputs_.end()) inputs_.emplace(input, RuntimeValue(content->second));
      }
    }
  }

  // True if the node's results are now known.
  bool evaluate(Node& node) {
    const OpDef* def = node.def();
    if (def == nullptr || !def->is_pure() || node.results().empty()) return false;
    // Scales that are computed at run time belong to the runtime, and so does quantization with them.
    if (def->is(OpFlag::Quantization) && node.results().size() > 1) return false;
    if (def->is(OpFlag::Quantization) && !is_quantized(node)) return hold(node);
    if (def->is(OpFlag::Symbolic) && is_number(node)) {
      know(*node.result(), node.result()->type().expr->int_value, 0);
      return true;
    }
    if (reads_held(node)) {
      if (!def->is(OpFlag::Quantization)) return hold(node);
      if (!compute_held(node)) return false;
    }
    if (!can_run(node) || !run(node)) return false;
    let_go_of_operands(node);
    return true;
  }

  // Keeps values that are dequantized from integers, and values computed from these, for readers of floats. A
  // node that quantizes them again is folded:
  //
  //   %a = dequantize_per_tensor(%w, ..)    %b = mul(%a, %gain)    %c = quantize_per_tensor(%b, ..)
  bool hold(const Node& node) {
    const auto is_at_hand = [&](const Value* value) {
      return known_.contains(value) || held_.contains(value);
    };
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      if (!is_at_hand(node.operand(i))) return false;
    }
    if (has_kernel(node.op()) && is_small_enough(node)) {
      for (const Value* result : node.results()) held_.insert(result);
    }
    return false;
  }

  bool reads_held(const Node& node) const {
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      if (held_.contains(node.operand(i))) return true;
    }
    return false;
  }

  // Computes the held values that the node needs; false if a kernel fails.
  bool compute_held(Node& node) {
    std::vector<Node*> pending = {&node};
    while (!pending.empty()) {
      Node& next = *pending.back();
      const std::size_t before = pending.size();
      for (std::size_t i = 0; i < next.operand_count(); ++i) {
        if (held_.contains(next.operand(i))) pending.push_back(next.operand(i)->producer());
      }
      if (pending.size() > before) continue;
      pending.pop_back();
      if (&next == &node || !held_.contains(next.result(0))) continue;  // read by two nodes
      if (!run(next)) return false;
      for (const Value* result : next.results()) held_.erase(result);
    }
    return true;
  }

  bool can_run(const Node& node) const {
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      if (!known_.contains(node.operand(i))) return false;
    }
    return has_kernel(node.op()) && is_small_enough(node);
  }

  bool run(Node& node) {
    auto results = run_kernel(node, [this](const Value& value) -> const RuntimeValue* {
      auto found = known_.find(&value);
      return found == known_.end() ? nullptr : &found->second.content;
    });
    if (!results) return false;  // it fails at run time, if it ever runs
    bytes_left_ -= *bytes_made(node);
    remember(node, std::move(*results));
    computed_.push_back(&node);
    return true;
  }

  // True for a size that is a known number even if its operands are unknown.
  static bool is_number(const Node& node) {
    const Type& type = node.result()->type();
    return node.results().size() == 1 && type.kind == Type::Kind::SymInt && type.expr != nullptr &&
           type.expr->kind == SymExpr::Kind::Int;
  }

  // Adds the bytes of a tensor; false for symbolic sizes.
  static bool add_bytes(const Value& value, std::size_t& total) {
    if (!value.type().is_tensor()) return true;
    auto bytes = value.tensor().static_bytes();
    return bytes && !__builtin_add_overflow(total, *bytes, &total);
  }

  static std::optional<std::size_t> bytes_made(const Node& node) {
    std::size_t made = 0;
    for (const Value* result : node.results()) {
      if (!add_bytes(*result, made)) return std::nullopt;
    }
    return made;
  }

  bool is_small_enough(const Node& node) const {
    std::size_t given = 0;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      if (!add_bytes(*node.operand(i), given)) return false;
    }
    const std::optional<std::size_t> made = bytes_made(node);
    if (!made || *made > bytes_left_) return false;
    return *made <= max_folded_bytes || *made / max_folded_growth <= given;
  }

  void remember(const Node& node, std::vector<RuntimeValue> results) {
    int depth = 0;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      depth = std::max(depth, known_.at(node.operand(i)).depth);
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      auto* data = std::get_if<TensorData>(&results[i]);
      bool waits = data != nullptr && data->storage->is_lazy();
      if (waits && depth >= max_folded_depth) {
        data->storage = Storage::owned(data->storage->produce());
        waits = false;
      }
      know(*node.result(i), std::move(results[i]), waits ? depth + 1 : 0);
    }
  }

  // Frees the content of operands after their last use.
  void let_go_of_operands(const Node& node) {
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value& value = *node.operand(i);
      Constant& operand = known_.at(&value);
      if (--operand.uses_left > 0) continue;
      operand.content = {};
      std::size_t bytes = 0;
      if (value.producer() != nullptr && add_bytes(value, bytes)) bytes_left_ += bytes;
    }
  }

  void know(const Value& value, RuntimeValue content, int depth) {
    known_.emplace(&value, Constant{std::move(content), depth, value.use_count()});
  }

  bool has_live_use(const Value& value) const {
    return std::ranges::any_of(value.uses(), [&](const Use& use) { return !is_folded_[use.user()->id()]; });
  }

  // Replaces the value by its content in all users.
  void replace(Value& value) {
    const RuntimeValue& content = known_.at(&value).content;
    if (const auto* data = std::get_if<TensorData>(&content)) {
      graph_.replace_uses(value, constant_input(value, *data));
      return;
    }
    while (value.has_uses()) graph_.set_operand(*value.uses().begin(), as_literal(content));
  }

  // Returns an input with this data: an input that the value's node reads, if the node changes nothing, or a
  // new one.
  Value* constant_input(Value& value, const TensorData& data) {
    Node& node = *value.producer();
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      Value* operand = node.operand(i);
      auto given = inputs_.find(operand);
      if (given == inputs_.end() || operand->type() != value.type()) continue;
      if (is_same(std::get<TensorData>(given->second), data)) return operand;
    }
    Name key = program_.unique_data_key(value.name().str());
    Value* input = method_.graph->add_input(value.name(), value.type());
    method_.inputs.push_back({.kind = InputSpec::Kind::Constant, .target = key});
    program_.data.emplace(key, data);
    Value* held = operands_.in_graph(*input, graph_);
    inputs_.emplace(held, data);
    return held;
  }

  struct Constant {
    RuntimeValue content;
    int depth;              // of lazy contents that are computed together with this one
    std::size_t uses_left;  // uses by nodes that are not folded yet
  };

  Program& program_;
  Method& method_;
  BodyOperands& operands_;
  KnownInputs& inputs_;
  Graph& graph_;
  std::size_t& bytes_left_;
  std::unordered_map<const Value*, Constant> known_;
  std::unordered_set<const Value*> held_;  // could be computed, but kept for backends
  std::vector<Node*> computed_;            // in topological order
  std::vector<bool> is_folded_;            // by node id; held values may be computed and stay as nodes, too
};

}  // namespace

// Afterwards no pure node of a method has only constant operands. Exceptions: nodes of a quantized pattern,
// without a reference kernel, that would fail, or with too large results.
Status fold_constants(Program& program, const NormalizeOptions&) {
  DataKeys mutated = mutated_data(program);
  std::size_t bytes_left = max_bytes_of_all(program);
  for (auto& method : program.methods) {
    BodyOperands operands(*method);
    KnownInputs inputs;
    for (Graph* graph : operands.graphs())
      Folder(program, *method, operands, inputs, *graph, bytes_left).run(mutated);
  }
  return {};
}

}  // namespace depute
