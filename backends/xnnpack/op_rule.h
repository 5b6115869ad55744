// Rules of operators: when XNNPACK takes a node, and what the node becomes. One file per family in ops/.
//
//   static constexpr OpRule rules[] = {{.op = "aten.neg.default", .conditions = "", .translate =
//   unary<Negate>}}; std::span<const OpRule> depute::xnnpack::ops::unary() { return rules; }
//
// The build finds ops/*.cpp and calls the function named after each file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "depute/op.h"
#include "op_limits.h"

namespace depute::xnnpack {

class Emitter;
class NodeQuery;

// Why a node is not taken: an id from refusal_rules(), the value seen, and the values allowed.
struct Refusal {
  std::string_view rule;
  std::string seen;
  std::string allowed;
};
using Check = std::optional<Refusal>;  // nothing: the node is taken

enum class OpClass : std::uint8_t {
  Compute,
  Move,     // copies elements: taken, but not worth a delegate of its own
  Relabel,  // the same elements under another shape: joins a delegate only where that keeps it together
};

struct OpRule {
  std::string_view op;
  std::string_view conditions = {};  // for the support matrix: what `check` looks at
  Forms forms = {};                  // what is taken of types, ranks and arguments: of the first that is met
  OpClass op_class = OpClass::Compute;
  bool keep_whole = false;      // not decomposed where it can be taken
  bool mixes_dtypes = false;    // tensors may differ in their element types
  std::string_view packs = {};  // the argument whose constant the runtime packs, for each such node anew
  bool takes_integers = false;  // tensors may have any element types, which the rule checks
  bool takes_layouts = false;   // operands may lie in another order than row-major
  bool takes_numbers = false;   // an argument that is a tensor by its schema may be a number
  // What is checked beyond the forms and what all nodes must meet (node_query.h); may be null.
  Check (*check)(const NodeQuery& node) = nullptr;
  // Called for nodes that passed the check.
  void (*translate)(Emitter& emit, const OpCall& call) = nullptr;
};

// The rule of an op; null when there is none.
const OpRule* find_op_rule(Symbol op);
std::span<const OpRule* const> all_op_rules();  // in order of the files' names

// Every id a Refusal can have, with its meaning.
struct RefusalRule {
  std::string_view id;
  std::string_view meaning;
};
std::span<const RefusalRule> refusal_rules();

}  // namespace depute::xnnpack
