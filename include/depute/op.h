// The op table: all facts of an operator in one place. Every pass asks it; none lists ops by hand.
//
// An op is one line of a family's table (pointwise.cpp, views.cpp, ...): its schema in the notation PyTorch
// users know, beside the rules it needs (op_table.h):
//
//   {"aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", binary("add.out")},
//
// In-place twins (aten.add_.Tensor) and copying twins of views (aten.view_copy.default) are made from the
// line of the op they belong to. An op that has no line is opaque: it keeps the types its file gave it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/graph.h"
#include "depute/result.h"
#include "depute/small_vector.h"

#pragma GCC visibility push(default)

namespace depute {

struct BackendOp;
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
  bool is_written = false;     // (a!): the op mutates it
  bool is_aliased = false;     // (a): a result may be a view of it
  bool is_promoted = false;    // takes part in type promotion
  bool takes_numbers = false;  // of a Tensor: may be a number, which becomes a tensor
  bool is_symbolic = false;    // may be a number that is known only when the program runs: SymInt, Scalar
  std::optional<Argument> default_value;
};

struct ReturnDef {
  ArgType type = ArgType::Tensor;
  bool is_list = false;
};

// Whose op it is. Files and callers name Torch's and backends'; the compiler's own stand for something that
// it made itself, and are refused from outside (verify_input.h), but for delegate.call.
enum class OpOrigin : std::uint8_t { Torch, Backend, Compiler };

// A set of them: OpFlag::core | OpFlag::pointwise.
enum class OpFlag : std::uint32_t {
  no_flags = 0,
  core = 1 << 0,       // stays as it is after normalisation
  pointwise = 1 << 1,  // broadcasts and computes element by element
  view = 1 << 2,       // the result shares the first argument's memory in torch, always
  random = 1 << 3,     // not a function of its arguments
  drop = 1 << 4,       // an assertion: removed by normalisation
  reduction = 1 << 5,
  symbolic = 1 << 6,            // computes sym ints, floats, bools (sym_size, _operator.add, ...)
  control_flow = 1 << 7,        // has graph arguments
  may_view = 1 << 8,            // the result shares the first argument's memory when nothing has to move
  inplace_twin = 1 << 9,        // there is an op with "_" that writes the result into the first argument
  copy_twin = 1 << 10,          // there is an op with "_copy" that is this view with memory of its own
  promotes_to_float = 1 << 11,  // integers are computed in the default floating-point type
  reads_layout = 1 << 12,       // depends on its argument's strides
  quantisation = 1 << 13,       // part of a pattern that backends look for: folded where it makes integers
  variadic = 1 << 14,           // takes and gives any number of values behind what its schema names
  // Its result may lie where its first argument is, which its kernel copies first. Of an op with aliased
  // arguments, its last results where these are.
  copies_first = 1 << 15,
  joins = 1 << 16,  // its result is the first argument's tensors, one behind the other along `dim`
  // The element type that torch.autocast on a CPU computes the op in: the region's, f32, or the widest
  // operand's.
  autocast_lower = 1 << 17,
  autocast_f32 = 1 << 18,
  autocast_promote = 1 << 19,
  autocast_inside = 1 << 20,  // torch makes it of ops that are converted, to results that do not tell
  along_dim =
      1 << 21,  // works on each row along `dim` of its first argument alone, of others element by element
  // torch copies the first argument with its strides and writes a part of the copy: elements that share memory change
  // together.
  copies_layout = 1 << 22,
};

constexpr OpFlag operator|(OpFlag a, OpFlag b) {
  return static_cast<OpFlag>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr OpFlag operator&(OpFlag a, OpFlag b) {
  return static_cast<OpFlag>(static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b));
}
constexpr OpFlag operator~(OpFlag a) {
  return static_cast<OpFlag>(~static_cast<std::uint32_t>(a));
}

// What the elements of a result are of the first argument's: a planner may give both one memory where they
// lie there in the same way.
enum class ViewKind : std::uint8_t {
  None,
  Reshape,  // all, in their order
  Copy,     // the same, unless it converts them
  Expand,   // the same, unless it repeats elements
  Permute,
  Select,
  Slice,
  Split,  // consecutive parts, one result each
};

// Result types from the arguments. Fails with a message that starts with the reason ("sizes 3 and 4 do not
// broadcast").
using InferFunction = Result<std::vector<Type>> (*)(const OpCall& call);
// Replacement values for the call's results, built with `b`. An empty vector: keep the call as it is.
using Replacement = Result<std::vector<Value*>>;
using DecomposeFunction = Replacement (*)(Builder& b, const OpCall& call);
// True when the call returns its first argument unchanged; asked only when the two have the same type.
using IdentityFunction = bool (*)(const OpCall& call);
// Factors whose product is how many multiplications with additions the call does; of a node of a graph.
using MacsFunction = Dims (*)(const OpCall& call);
// For a view: what `base`, the call's first argument, becomes when result number `result` of the call gets
// the content `updated`.
using WriteBackFunction = Result<Value*> (*)(Builder& b, const OpCall& call, Value* base, Value* updated,
                                             std::size_t result);

struct OpDef {
  Symbol name;         // "aten.add.Tensor"
  std::string schema;  // the line: "aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
  std::vector<ArgDef> args;
  std::vector<ReturnDef> returns;
  OpFlag flags = OpFlag::no_flags;
  OpOrigin origin = OpOrigin::Torch;
  ViewKind view_kind = ViewKind::None;
  InferFunction infer = nullptr;
  // Of a backend's op: what it stands for, applied on demand.
  DecomposeFunction decompose = nullptr;
  IdentityFunction identity = nullptr;
  WriteBackFunction write_back = nullptr;
  MacsFunction macs = nullptr;  // null: none worth counting
  std::string out_name;         // "aten::add.out": the kernel ExecuTorch has for it; empty when there is none
  const BackendOp* backend_op = nullptr;  // of a backend's op (backend_op.h)
  Symbol
      chosen_from;  // the argument of which a result has some elements: at most all, the data tells how many
  Symbol functional;                                       // of a twin: the op it belongs to
  std::vector<std::unique_ptr<Argument[]>> default_lists;  // elements of default values that are lists

  bool is(OpFlag flag) const { return (flags & flag) != OpFlag::no_flags; }
  bool mutates() const;
  // Same arguments, same results, nothing else: it may be folded, and dropped when no one uses it.
  bool is_pure() const;
  bool promotes() const;             // some argument takes part in type promotion
  int arg_index(Symbol name) const;  // -1 when there is no such argument
  // True for arguments the out variant takes too: all but dtype, layout, device and pin_memory of a call that
  // makes a tensor from them, which the out tensor stands for.
  bool is_kernel_argument(std::size_t arg) const;
};

// PyTorch's ops in table order, each followed by its twins; and the compiler's own.
std::span<const OpDef* const> all_ops();
std::span<const OpDef* const> compiler_ops();

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
  std::span<const Argument> args() const {
    return {args_.data(), args_.size()};
  }  // one per schema argument, in schema order

  const Value* value(std::string_view name) const;  // null when None or a number
  // The tensor argument's type; CHECKs that it is one. check_call() makes sure of it for outside data.
  const TensorType& tensor(std::string_view name) const;
  std::int64_t integer(std::string_view name) const { return (*this)[name].as_int(); }
  bool boolean(std::string_view name) const { return (*this)[name].as_bool(); }
  double number(std::string_view name) const { return (*this)[name].as_double(); }
  std::string_view text(std::string_view name) const { return (*this)[name].as_symbol().str(); }
  // CHECKs constants: ask is_constant_ints first. A single int, or None, is a list of one or none.
  std::vector<std::int64_t> ints(std::string_view name) const;
  bool is_constant_ints(std::string_view name) const;
  std::vector<const Value*> values(std::string_view name) const;  // of a Tensor[] argument

 private:
  const OpDef* def_;
  SmallVector<Argument, 10> args_;
  const Node* node_;
};

// The argument's value as a size: an Int, or a sym int value's expression.
SymInt as_sym_int(const Argument& argument);
Dims as_dims(const Argument& list);

// Does what torch's schema check does for a node of a known op: unknown or missing arguments, wrong kinds.
// Afterwards an OpCall of the node can be read as its schema says.
Status check_call(const Node& node);
Status check_call(const Node& node, const OpDef& def);
// The same for a call that is no node yet.
Status check_call(const OpDef& def, std::span<const Argument> args, std::span<const NamedArgument> kwargs);
// The node gives as many results as the schema says, tensors where it says so. Any of them may be None, which
// nobody can use.
Status check_results(const Node& node, const OpDef& def);

}  // namespace depute

#pragma GCC visibility pop
