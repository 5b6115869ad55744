// The op table: all facts of an operator in one place. Every pass asks it; none lists ops by hand.
//
// An op is one line of a family's table (pointwise.cpp, views.cpp, ...), in the schema notation PyTorch users
// know:
//
//   {"aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", {.flags = core | pointwise,
//   .infer = binary}},
//
// beside the rules it needs: result types, decomposition, name of ExecuTorch's out variant.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace depute {

class Builder;
class OpCall;

enum class ArgType : std::uint8_t {
  Tensor,
  Int,
  Float,
  Bool,
  Scalar,
  String,
  ScalarType,
  MemoryFormat,
  Layout,
  Device,
  Generator,
  Graph,
  Operator,
  Any,
};

struct ArgDef {
  Symbol name;
  ArgType type = ArgType::Any;
  bool is_list = false;            // int[], Tensor[], ...
  bool is_optional = false;        // may be None
  bool optional_elements = false;  // Tensor?[]
  bool keyword_only = false;
  bool is_written = false;  // (a!): the op mutates it
  bool is_aliased = false;  // (a): a result is a view of it
  std::optional<Argument> default_value;
};

struct ReturnDef {
  ArgType type = ArgType::Tensor;
  bool is_list = false;
};

enum OpFlags : std::uint32_t {
  no_flags = 0,
  core = 1 << 0,       // stays as it is after normalisation
  pointwise = 1 << 1,  // broadcasts and computes element by element
  view = 1 << 2,       // the result shares the first argument's memory in torch
  random = 1 << 3,     // not a function of its arguments
  drop = 1 << 4,       // an assertion: removed by normalisation
  reduction = 1 << 5,
  symbolic = 1 << 6,      // computes sym ints, floats, bools (sym_size, _operator.add, ...)
  control_flow = 1 << 7,  // has graph arguments
};

// Result types from the arguments. Fails with a message that starts with the reason ("sizes 3 and 4 do not
// broadcast").
using InferFunction = Result<std::vector<Type>> (*)(const OpCall& call);
// Replacement values for the call's results, built with `b`. An empty vector: keep the call as it is.
using DecomposeFunction = Result<std::vector<Value*>> (*)(Builder& b, const OpCall& call);

struct OpDef {
  Symbol name;  // "aten.add.Tensor"
  std::vector<ArgDef> args;
  std::vector<ReturnDef> returns;
  std::uint32_t flags = 0;
  InferFunction infer = nullptr;
  DecomposeFunction decompose = nullptr;
  std::string out_name;  // "aten::add.out": the kernel ExecuTorch has for it; empty when there is none

  bool is(OpFlags flag) const { return (flags & flag) != 0; }
  bool mutates() const;
  int arg_index(Symbol name) const;  // -1 when there is no such argument
};

// Null for an op that is not in the table: it is opaque, with the types its file gave it.
const OpDef* op_def(Symbol op);
inline const OpDef* op_def(const Node& node) {
  return op_def(node.op());
}
std::span<const OpDef* const> all_ops();  // in table order

// A call seen through its schema: arguments by name or position, defaults filled in, keyword or positional
// alike.
class OpCall {
 public:
  OpCall(const OpDef& def, std::span<const Argument> args, std::span<const NamedArgument> kwargs,
         const Node* node = nullptr);
  explicit OpCall(const Node& node);  // node's op must be in the table

  const OpDef& def() const { return *def_; }
  const Node* node() const { return node_; }  // null while it is being built
  // CHECKs that the schema has the argument. A missing one without default is None.
  const Argument& operator[](std::string_view name) const;
  const Argument& operator[](std::size_t index) const { return args_[index]; }
  std::span<const Argument> args() const { return args_; }  // one per schema argument, in schema order

  Value* value(std::string_view name) const;  // null when None or a number
  std::vector<std::int64_t> ints(
      std::string_view name) const;  // CHECKs constants: ask is_constant_ints first
  bool is_constant_ints(std::string_view name) const;
  std::vector<Value*> values(std::string_view name) const;  // of a Tensor[] argument

 private:
  const OpDef* def_;
  std::vector<Argument> args_;
  const Node* node_;
};

// The argument's value as a size: an Int, or a sym int value's expression.
SymInt as_sym_int(const Argument& argument);
Dims as_dims(const Argument& list);

// Does what torch's schema check does for a node of a known op: unknown or missing arguments, wrong kinds.
Status check_call(const Node& node);

}  // namespace depute
