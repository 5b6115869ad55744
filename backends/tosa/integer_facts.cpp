#include "integer_facts.h"

#include <optional>
#include <vector>

#include "depute/program/walk.h"
#include "emitter.h"
#include "op_rule.h"
#include "partition/tag_data.h"

namespace depute::tosa {
namespace {

bool passes_scale_on(const OpRule& rule) {
  return rule.integers == IntegerForm::SameScale || rule.integers == IntegerForm::Clamp;
}

std::optional<Quantization> known(const IntegerFacts& facts, const Value& value) {
  const auto found = facts.wanted.find(&value);
  return found == facts.wanted.end() ? std::nullopt : std::optional(found->second);
}

// The scale in which a reader wants a value: its own, or that of its results if it passes integers on.
std::optional<Quantization> wanted_by(const IntegerFacts& facts, const Node& user) {
  if (user.is_return()) return std::nullopt;
  if (user.op() == quantize_op) return quantization_of(user);
  const OpRule* rule = find_op_rule(user.op());
  if (rule == nullptr || !passes_scale_on(*rule)) return std::nullopt;
  const auto own = known(facts, *user.result());
  for (std::size_t i = 1; i < user.results().size(); ++i) {
    if (user.result(i)->has_uses() && known(facts, *user.result(i)) != own) return std::nullopt;
  }
  return own;
}

std::optional<Quantization> wanted_by_all(const IntegerFacts& facts, const Value& value) {
  std::optional<Quantization> common;
  for (const Use& use : value.uses()) {
    const auto own = wanted_by(facts, *use.user());
    if (!own || (common && *common != *own)) return std::nullopt;
    common = own;
  }
  return common;
}

}  // namespace

// Readers come before what they read, so that each value is looked at once.
IntegerFacts find_wanted_scales(const Method& method) {
  IntegerFacts facts;
  for (const Graph* graph : graphs_of(method)) {
    for (const Node* node = graph->last(); node != nullptr; node = node->previous()) {
      for (const Value* result : node->results()) {
        if (const auto wanted = wanted_by_all(facts, *result)) facts.wanted.emplace(result, *wanted);
      }
    }
  }
  return facts;
}

IntegerFacts find_integer_facts(const Program& program, const Method& method, const Device& device) {
  IntegerFacts facts = find_wanted_scales(method);
  const std::vector<InputData> data = input_data(program, method);
  for (const Value* input : method.graph->inputs()) {
    if (data[input->index()] == InputData::Mutated) facts.mutated.insert(input);
  }
  if (facts.wanted.empty()) return facts;
  for (const Graph* graph : graphs_of(method)) {
    for (const Node& node : graph->nodes()) {
      const OpRule* rule = find_op_rule(node.op());
      if (rule == nullptr || rule->integers == IntegerForm::None) continue;
      Emitter emit(&program, &method, device, Scope::Node, &facts);
      if (translate_integers(emit, node)) continue;
      for (const Value* result : node.results()) {
        if (const auto made = emit.known_integers(*result)) facts.integers.emplace(result, *made);
      }
    }
  }
  return facts;
}

}  // namespace depute::tosa
