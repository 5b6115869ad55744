// The op table: all facts about an operator in one place. Passes query it instead of listing ops.
//
// Each op is one line in a table of its family (src/ops): its schema in PyTorch's notation, and the rules it needs:
//
//   {"aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", with_scalar(binary("add.out"))},
//
// In-place variants (aten.add_.Tensor), copy variants of views (aten.view_copy.default) and overloads with a
// number (aten.add.Scalar) are derived from the line of their op, and result types from its decomposition. An op
// without a line is opaque: its results keep the types stated in the file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/program/graph.h"
#include "depute/program/result.h"
#include "depute/program/small_vector.h"

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
  Name name;
  ArgType type = ArgType::Any;
  bool is_list = false;            // int[], Tensor[], ...
  bool is_optional = false;        // may be None
  bool optional_elements = false;  // Tensor?[]
  bool keyword_only = false;
  bool is_written = false;     // (a!): mutated by the op
  bool is_aliased = false;     // (a): a result may be a view of it
  bool is_promoted = false;    // takes part in type promotion
  bool takes_numbers = false;  // for a Tensor: also accepts a number, which becomes a tensor
  bool is_symbolic = false;    // may be a number that is known only at run time: SymInt, Scalar
  std::optional<Argument> default_value;
};

struct ReturnDef {
  ArgType type = ArgType::Tensor;
  bool is_list = false;
};

// Where an op comes from. Input programs may contain ops of Torch and Backend. Ops of Compiler are made by
// the compiler itself; verify_input() rejects them, except for delegate.call.
enum class OpOrigin : std::uint8_t { Torch, Backend, Compiler };

// Set of flags: OpFlag::Core | OpFlag::Pointwise.
enum class OpFlag : std::uint32_t {
  None = 0,
  Core = 1 << 0,       // is not decomposed by normalization
  Pointwise = 1 << 1,  // broadcasts and computes element by element
  View = 1 << 2,       // the result always aliases the first argument in torch
  Random = 1 << 3,     // not a function of its arguments
  Assertion = 1 << 4,  // an assertion, removed by normalization
  Reduction = 1 << 5,
  Symbolic = 1 << 6,          // computes sym ints, floats, bools (sym_size, _operator.add, ...)
  ControlFlow = 1 << 7,       // has graph arguments
  MayView = 1 << 8,           // the result aliases the first argument in torch if no element has to move
  InPlaceVariant = 1 << 9,    // has an in-place variant ("_") that writes the result to the first argument
  CopyVariant = 1 << 10,      // is a view that has a copy variant ("_copy")
  PromotesToFloat = 1 << 11,  // computes integers in the default floating-point type
  ReadsLayout = 1 << 12,      // depends on the strides of its argument
  Quantization = 1 << 13,  // part of quantization patterns of backends; folded only if it produces integers
  Variadic = 1 << 14,      // takes and returns any number of values behind those in the schema
  // The kernel first copies an argument to the result and then changes it, so the planner may give both the
  // same memory. The argument is the first one; for an op with aliased arguments, each of its last results
  // belongs to one aliased argument.
  MayAliasOperand = 1 << 15,
  Concat = 1 << 16,  // concatenates the tensors of its first argument along `dim`
  // Element type in which torch.autocast on a CPU computes the op: the region's type, f32, or the widest type
  // of the operands.
  AutocastLower = 1 << 17,
  AutocastF32 = 1 << 18,
  AutocastPromote = 1 << 19,
  AutocastInside = 1 << 20,  // torch makes it of ops that are converted, to results that do not tell
  AlongDim =
      1 << 21,  // works on each row along `dim` of its first argument alone, of others element by element
  // torch copies the first argument with its strides and writes a part of the copy: elements that share memory change
  // together.
  CopiesLayout = 1 << 22,
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

// How the elements of a result lie in the first argument. If the order is the same, the planner may give both
// the same memory.
enum class ViewKind : std::uint8_t {
  None,
  Reshape,  // all elements in the same order
  Copy,     // same order, unless elements are converted
  Expand,   // same order, unless elements are repeated
  Permute,
  Select,
  Slice,
  Split,  // consecutive parts, one per result
};

// Infers the result types. Fails with a message that starts with the reason ("sizes 3 and 4 do not
// broadcast").
using InferFunction = Result<std::vector<Type>> (*)(const OpCall& call);
// Replacement values for the results of a call, built with a Builder. An empty vector keeps the call.
using Replacement = Result<std::vector<Value*>>;
using DecomposeFunction = Replacement (*)(Builder& b, const OpCall& call);
// True if the call returns its first argument unchanged. Called only if both have the same type.
using IdentityFunction = bool (*)(const OpCall& call);
// Returns factors whose product is the number of multiply-accumulates of the call, which must be a node of a
// graph.
using MacsFunction = Dims (*)(const OpCall& call);
// For a view: builds the new content of `base`, the call's first argument, after result number `result` of
// the call is set to `updated`.
using WriteBackFunction = Result<Value*> (*)(Builder& b, const OpCall& call, Value* base, Value* updated,
                                             std::size_t result);

struct DEPUTE_API OpDef {
  Name name;  // "aten.add.Tensor"
  // In PyTorch's notation: "aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
  std::string schema;
  std::vector<ArgDef> args;
  std::vector<ReturnDef> returns;
  OpFlag flags = OpFlag::None;
  OpOrigin origin = OpOrigin::Torch;
  ViewKind view_kind = ViewKind::None;
  InferFunction infer = nullptr;
  // For a backend op: builds its pattern, only on request.
  DecomposeFunction decompose = nullptr;
  IdentityFunction identity = nullptr;
  WriteBackFunction write_back = nullptr;
  MacsFunction macs = nullptr;            // null: not worth counting
  std::string out_name;                   // ExecuTorch's kernel, "aten::add.out"; empty if there is none
  const BackendOp* backend_op = nullptr;  // set for a backend op (backend_op.h)
  // For results whose size depends on data (nonzero, unique): the argument that bounds it.
  Name data_dependent_size;
  Name functional;  // for an in-place or copy variant: the functional op
  std::vector<std::unique_ptr<Argument[]>> default_lists;  // elements of list-valued default arguments

  bool is(OpFlag flag) const { return (flags & flag) != OpFlag::None; }
  bool mutates() const;
  // True for an op without side effects whose results depend on its arguments only. Such a node may be
  // folded, and removed if unused.
  bool is_pure() const;
  bool promotes() const;           // an argument takes part in type promotion
  int arg_index(Name name) const;  // -1 if there is no such argument
  // True for arguments of the out variant. False for dtype, layout, device and pin_memory of a factory op,
  // which are given by the out tensor.
  bool is_kernel_argument(std::size_t arg) const;
};

// PyTorch's ops in table order, each followed by its variants; and the compiler's own ops.
DEPUTE_API std::span<const OpDef* const> all_ops();
DEPUTE_API std::span<const OpDef* const> compiler_ops();

// A call viewed through its schema: arguments by name or index, positional or keyword, with defaults filled
// in.
class DEPUTE_API OpCall {
 public:
  OpCall(const OpDef& def, std::span<const Argument> args, std::span<const NamedArgument> kwargs,
         const Node* node = nullptr);
  explicit OpCall(const Node& node);  // the node's op must be in the op table

  const OpDef& def() const { return *def_; }
  const Node* node() const { return node_; }  // null for a call under construction
  // CHECKs that the schema has the argument. A missing argument without default is None.
  const Argument& operator[](std::string_view name) const;
  const Argument& operator[](std::size_t index) const { return args_[index]; }
  // One per schema argument, in schema order.
  std::span<const Argument> args() const { return {args_.data(), args_.size()}; }

  const Value* value(std::string_view name) const;  // null for None and numbers
  // Type of a tensor argument. CHECKs that it is a tensor; check_call() ensures this for outside data.
  const TensorType& tensor(std::string_view name) const;
  std::int64_t integer(std::string_view name) const { return (*this)[name].as_int(); }
  bool boolean(std::string_view name) const { return (*this)[name].as_bool(); }
  double number(std::string_view name) const { return (*this)[name].as_double(); }
  std::string_view text(std::string_view name) const { return (*this)[name].as_symbol().str(); }
  // CHECKs that the list is constant; test is_constant_ints() first. A single int becomes a list of one, None
  // an empty list.
  std::vector<std::int64_t> ints(std::string_view name) const;
  bool is_constant_ints(std::string_view name) const;
  std::vector<const Value*> values(std::string_view name) const;  // elements of a Tensor[] argument

 private:
  const OpDef* def_;
  SmallVector<Argument, 10> args_;
  const Node* node_;
};

// Returns the argument as a size: an Int, or the expression of a sym int value.
DEPUTE_API SymInt as_sym_int(const Argument& argument);
DEPUTE_API Dims as_dims(const Argument& list);

// Checks a call of a known op like torch's schema check: fails for unknown or missing arguments and wrong
// kinds. Afterwards an OpCall of the node can be read according to its schema.
DEPUTE_API Status check_call(const Node& node);
DEPUTE_API Status check_call(const Node& node, const OpDef& def);
// Checks a call before a node is made of it.
DEPUTE_API Status check_call(const OpDef& def, std::span<const Argument> args,
                             std::span<const NamedArgument> kwargs);
// Checks that the node's results match the schema in number, and are tensors where the schema says so. Any
// result may be None, which must not be used.
DEPUTE_API Status check_results(const Node& node, const OpDef& def);

// Ops to leave whole, although normalization would decompose them.
struct OpsToNotDecompose {
  std::vector<Name> ops;
  std::function<bool(const Node&)> filter;  // selects nodes with these ops; empty: all
};

}  // namespace depute
