// Reads numbers from constant tensors, and replaces the sizes that depend on them by their values.
//
//   %i: i64[5] = aten.arange.default(5)
//   %m: i64[] = aten.max.default(%i)
//   %n: sym_int[u0] = aten._local_scalar_dense.default(%m)
//   %z: f32[u0, 3] = aten.full.default([%n, 3], 0)         ->    %z: f32[4, 3] = aten.full.default([4, 3], 0)
//
// Folding would come too late, since decompositions need sizes. The nodes that compute a number are copied
// into a separate program, which is normalized.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "depute/program/interpret.h"
#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "ir/copy.h"
#include "ir/sym/replace_symbols.h"
#include "normalize/mutated_data.h"
#include "normalize/passes.h"

namespace depute {
namespace {

// Maximum number of rounds: a number that depends on other sizes needs another round. Further numbers are
// read at run time.
constexpr int max_rounds = 8;

bool is_number_of_own(const Node& node) {
  if (node.def() == nullptr || !node.def()->is(OpFlag::Symbolic) || node.results().size() != 1) return false;
  const Type& type = node.result(0)->type();
  return type.kind == Type::Kind::SymInt && type.expr != nullptr &&
         type.expr->kind == SymExpr::Kind::Symbol && node.operand_count() == 1 && has_kernel(node.op());
}

class Reader {
 public:
  Reader(Program& program, Method& method, const std::unordered_set<Name>& mutated)
      : program_(program), method_(method), graph_(*method.graph), mutated_(mutated) {}

  // True if a number was found.
  bool run() {
    const std::vector<Node*> wanted = find_wanted();
    if (wanted.empty()) return false;
    Program part = empty_like(program_);
    copy_part(wanted, part);
    if (!run_passes(part, all_passes(), {})) return false;  // a failing pass reports it later
    bool is_found = false;
    for (std::size_t i = 0; i < wanted.size(); ++i) is_found = take_number(*wanted[i], part, i) || is_found;
    if (!numbers_.empty()) replace_symbols_by_numbers();
    return is_found;
  }

 private:
  // Returns nodes that read a number from known values. A node that depends on the number is not known yet.
  std::vector<Node*> find_wanted() {
    std::vector<Node*> wanted;
    if (std::ranges::none_of(graph_.nodes(), is_number_of_own)) return wanted;
    for (const Value* input : graph_.inputs()) {
      const InputSpec& spec = method_.inputs[input->index()];
      if (!spec.has_data() || mutated_.contains(spec.target)) continue;
      const TensorData* data = program_.find_data(spec.target);
      if (data != nullptr && !data->storage->is_elided()) known_.insert(input);
    }
    for (Node& node : graph_.nodes()) {
      if (!is_known(node)) continue;
      if (is_number_of_own(node))
        wanted.push_back(&node);
      else
        known_.insert(node.results().begin(), node.results().end());
    }
    return wanted;
  }

  bool is_known(const Node& node) const {
    const OpDef* def = node.def();
    if (def == nullptr || !def->is_pure() || def->is(OpFlag::Random) || has_bodies(node)) return false;
    for (std::size_t i = 0; i < node.operand_count(); ++i)
      if (!known_.contains(node.operand(i))) return false;
    return std::ranges::all_of(node.results(), [](const Value* result) {
      return !result->type().is_tensor() || result->tensor().is_static();
    });
  }

  // Copies the nodes into a method whose outputs are the tensors that the numbers are read from.
  void copy_part(const std::vector<Node*>& wanted, Program& part) const {
    std::unordered_set<const Node*> needed;
    std::vector<const Node*> pending(wanted.begin(), wanted.end());
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      for (std::size_t i = 0; i < node->operand_count(); ++i) {
        const Node* producer = node->operand(i)->producer();
        if (producer != nullptr && needed.insert(producer).second) pending.push_back(producer);
      }
    }
    Method& method = part.add_method(method_.name);
    std::unordered_map<const Value*, Value*> values;
    for (const Value* input : graph_.inputs()) {
      if (!known_.contains(input)) continue;
      const InputSpec& spec = method_.inputs[input->index()];
      values[input] = method.graph->add_input(input->name(), input->type());
      method.inputs.push_back(spec);
      part.data.emplace(spec.target, *program_.find_data(spec.target));
    }
    const BodyMap no_bodies;
    NodeCopier copier(*method.graph, no_bodies);
    for (const Node& node : graph_.nodes()) {
      if (!needed.contains(&node)) continue;
      Node* copy = copier.copy(node, [&](const Value* value) { return Argument::of(values.at(value)); });
      for (std::size_t i = 0; i < node.results().size(); ++i) values[node.result(i)] = copy->result(i);
    }
    std::vector<Argument> outputs;
    for (const Node* node : wanted) outputs.push_back(Argument::of(values.at(node->operand(0))));
    method.graph->set_outputs(outputs);
    method.outputs.resize(outputs.size());
  }

  bool take_number(Node& node, const Program& part, std::size_t output) {
    const Method& method = *part.methods[0];
    const Argument& source = method.graph->outputs()[output];
    if (!source.is_value()) return false;
    const TensorData* data = constant_data(part, method, *source.as_value());
    if (data == nullptr) return false;
    const RuntimeValue content = *data;
    const auto results = run_kernel(node, [&](const Value&) { return &content; });
    const auto* number = results ? std::get_if<std::int64_t>(&(*results)[0]) : nullptr;
    if (number == nullptr) return false;
    Value& result = *node.result();
    const SymExpr* symbol = result.type().expr;
    const Range range = bounds(symbol, program_.ranges);
    if (*number < range.min || *number > range.max) return false;  // torch rejects the program at run time
    numbers_.emplace(symbol->name, *number);
    while (result.has_uses()) graph_.set_operand(*result.uses().begin(), Argument::of(*number));
    graph_.erase(node);
    return true;
  }

  void replace_symbols_by_numbers() {
    const auto replacement = [&](std::string_view name) {
      const auto found = numbers_.find(Name::scoped(name));
      return found == numbers_.end() ? sym_symbol(name) : sym_int(found->second);
    };
    for (Graph* graph : graphs_of(method_)) {
      const auto replace = [&](Value& value) {
        Type type = replace_symbols(value.type(), replacement);
        if (!(type == value.type())) graph->set_type(value, type);
      };
      for (Value* input : graph->inputs()) replace(*input);
      for (Node& node : graph->nodes())
        for (Value* result : node.results()) replace(*result);
    }
  }

  Program& program_;
  Method& method_;
  Graph& graph_;
  const std::unordered_set<Name>& mutated_;
  std::unordered_set<const Value*> known_;
  std::unordered_map<Name, std::int64_t> numbers_;
};

}  // namespace

// Afterwards no number is read from a tensor whose content is known at compile time.
Status read_constant_sizes(Program& program, const NormalizeOptions&) {
  if (!program.delegates.empty()) return {};  // their programs use the same symbols
  const std::unordered_set<Name> mutated = mutated_data(program);
  for (auto& method : program.methods) {
    int rounds = 0;
    while (rounds < max_rounds && Reader(program, *method, mutated).run()) ++rounds;
  }
  return {};
}

}  // namespace depute
