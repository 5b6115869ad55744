// Rules of operators: whether XNNPACK takes a node, and how it is translated. One file per family in ops/.
//
//   static constexpr OpRule rules[] = {{.op = "aten.neg.default", .translate = unary<Negate>}};
//   std::span<const OpRule> depute::xnnpack::ops::unary() { return rules; }
//
// The build finds ops/*.cpp and calls the function named after each file.
#pragma once

#include <span>
#include <string_view>

#include "depute/program/op.h"
#include "op_limits.h"
#include "partition/refusal.h"

namespace depute::xnnpack {

using rules::Check;
using rules::Refusal;

class Emitter;
class NodeQuery;

enum class OpClass : std::uint8_t {
  Compute,
  Move,     // copies elements: supported, but not worth a delegate
  Relabel,  // changes only the shape: joins a delegate only if that keeps the delegate together
};

struct OpRule {
  std::string_view op;
  std::string_view conditions = {};  // for the support matrix: a description of `check`
  Forms forms = {};                  // alternative limits on types, ranks and arguments
  OpClass op_class = OpClass::Compute;
  bool keep_whole = false;      // not decomposed if the backend can take it
  bool mixes_dtypes = false;    // tensors may differ in their element types
  std::string_view packs = {};  // the constant argument that the runtime packs for each node separately
  bool takes_integers = false;  // tensors may have any element type; the rule checks them
  bool takes_layouts = false;   // operands may have another order than row-major
  bool takes_numbers = false;   // a Tensor argument may be a number
  // Additional check beyond the forms and the general conditions (node_query.h); may be null.
  Check (*check)(const NodeQuery& node) = nullptr;
  // Called for nodes that passed the check.
  void (*translate)(Emitter& emit, const OpCall& call) = nullptr;
};

// Returns null if there is no rule.
const OpRule* find_op_rule(Name op);
std::span<const OpRule* const> all_op_rules();  // sorted by file name

// All ids of refusals, with their meanings.
struct RefusalRule {
  std::string_view id;
  std::string_view meaning;
};
std::span<const RefusalRule> refusal_rules();

}  // namespace depute::xnnpack
