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
#include <vector>

#include "depute/program/op.h"
#include "depute/program/program.h"
#include "graph.h"
#include "partition/refusal.h"

namespace depute::tosa {

using rules::Check;
using rules::Refusal;

class Emitter;
struct IntegerFacts;

enum class OpClass : std::uint8_t {
  Compute,
  Move,         // changes the place of elements, or the shape: joins a delegate, but is not worth one
  ControlFlow,  // runs graphs: for devices with control flow
};

// How a node is computed with the integers of its operands, where its result is quantized.
enum class IntegerForm : std::uint8_t {
  None,
  SameScale,  // translate() moves or chooses integers as it does floats: all have one scale
  Clamp,      // as SameScale, or by a table if the scale changes
  Table,      // a function of each element of one operand
  Own,        // translate_integers()
};

struct OpRule {
  std::string_view op;
  std::string_view conditions = {};  // for the support table
  OpClass op_class = OpClass::Compute;
  bool keep_whole = false;  // not decomposed if TOSA can take it
  bool gives_i64 = false;   // a result may be i64, of numbers that i32 has
  // Adds the operators of the node; returns why there are none. May be null if translate_integers() takes floats, too.
  Check (*translate)(Emitter& emit, const OpCall& call) = nullptr;
  IntegerForm integers = IntegerForm::None;
  // Adds operators of integers; if it refuses, the node is computed in floats.
  Check (*translate_integers)(Emitter& emit, const OpCall& call) = nullptr;
};

// A function of each element of the only operand that is no constant, as TOSA's TABLE.
Check translate_by_table(Emitter& emit, const OpCall& call);

// Returns null if there is no rule.
const OpRule* find_op_rule(Name op);
std::span<const OpRule* const> all_op_rules();  // sorted by file name

// Returns why the sizes of a tensor are not taken.
Check check_tensor(const TensorType& type);
// Returns why a node is not taken. `program` and `method` are null before normalization.
// `facts` may be null, too.
Check check_node(const Node& node, const Program* program, const Method* method, const Device& device,
                 const IntegerFacts* facts);
// Adds the operators of a node: of integers where its operands and readers allow it.
Check translate_node(Emitter& emit, const Node& node);
// Adds operators of integers. Returns why the node is not computed with integers.
Check translate_integers(Emitter& emit, const Node& node);
// Returns the nodes by which `node` is computed with integers: those that make its operands' integers, and those
// that read its result's.
std::vector<const Node*> integer_partners(const Node& node, const Program& program, const Method& method,
                                          const Device& device, const IntegerFacts& facts);
// Returns true for ops that give integers to float values or take them: quantize and dequantize nodes.
bool is_scale_op(Name op);

// --- refusals that several rules share
inline constexpr std::string_view no_integers = "an operand without integers";
inline constexpr std::string_view not_quantized = "a result that is not only quantized, with one scale";
Check refuse_integers(std::string_view reason);
Check refuse_argument(const OpCall& call, std::string_view name, std::string_view allowed);

}  // namespace depute::tosa
