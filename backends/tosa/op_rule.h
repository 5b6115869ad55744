// Rules of operators: how TOSA computes a node. One file per family in ops/.
//
//   static constexpr OpRule rules[] = {{.op = "aten.silu.default", .translate = silu}};
//   std::span<const OpRule> depute::tosa::ops::unary() { return rules; }
//
// A node is taken if it can be translated: the partitioner translates it alone and drops the result. So no second
// description of what is taken can disagree with the translation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "depute/program/op.h"
#include "depute/program/program.h"
#include "partition/refusal.h"

namespace depute::tosa {

using rules::Check;
using rules::Refusal;

class Emitter;

enum class OpClass : std::uint8_t {
  Compute,
  Move,  // changes the place of elements, or the shape: joins a delegate, but is not worth one
};

struct OpRule {
  std::string_view op;
  std::string_view conditions = {};  // for the support table
  OpClass op_class = OpClass::Compute;
  bool keep_whole = false;  // not decomposed if TOSA can take it
  // Adds the operators of the node; returns why there are none.
  Check (*translate)(Emitter& emit, const OpCall& call) = nullptr;
};

// Returns null if there is no rule.
const OpRule* find_op_rule(Name op);
std::span<const OpRule* const> all_op_rules();  // sorted by file name

// Returns why a node is not taken. `program` and `method` are null before normalization.
Check check_node(const Node& node, const Program* program, const Method* method);
// Adds a node that passed general conditions.
Check translate_node(Emitter& emit, const Node& node);

// --- refusals that several rules share
Check refuse_argument(const OpCall& call, std::string_view name, std::string_view allowed);

}  // namespace depute::tosa
