// A program: methods by name, their constants, and the delegates that execute parts of them.
//
// Steps of the compiler take a program by const reference or by move and return a new one. clone() copies
// graphs and shares all data. Pointers to nodes and values are valid inside one program only. A const Program
// gives only const access to everything it references. Reading it writes nothing, so any number of threads
// may read, lower and plan it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "depute/api.h"
#include "depute/program/data.h"
#include "depute/program/graph.h"
#include "depute/program/hash.h"
#include "depute/program/name_scope.h"
#include "depute/program/result.h"

namespace depute {

// A unique_ptr that propagates const: through a const Owned<T> only a const T is reachable.
//
//   Owned<Graph> graph = std::make_unique<Graph>();
//   graph->add_input(Name("x"), type);  // through a Graph&
//   std::as_const(graph)->inputs();       // through a const Graph&
//
// Owned has the interface of unique_ptr and is constructed from one.
template <typename T>
class Owned {
 public:
  Owned() = default;
  Owned(std::nullptr_t) {}                                             // NOLINT: like a unique_ptr
  Owned(std::unique_ptr<T> pointer) : pointer_(std::move(pointer)) {}  // NOLINT: conversion is the point

  T* get() { return pointer_.get(); }
  const T* get() const { return pointer_.get(); }
  T& operator*() { return *pointer_; }
  const T& operator*() const { return *pointer_; }
  T* operator->() { return pointer_.get(); }
  const T* operator->() const { return pointer_.get(); }
  explicit operator bool() const { return pointer_ != nullptr; }
  void reset() { pointer_.reset(); }

  friend bool operator==(const Owned& owned, std::nullptr_t) { return owned.pointer_ == nullptr; }
  friend bool operator==(const Owned&, const Owned&) = default;

 private:
  std::unique_ptr<T> pointer_;
};

// --- programs

// Role of a graph input. For parameters, buffers and constants, `target` is the key in Program::data (the
// fully qualified name); for CustomObj it is the object's name.
struct InputSpec {
  enum class Kind : std::uint8_t { UserInput, Parameter, Buffer, Constant, CustomObj, Token };
  Kind kind = Kind::UserInput;
  Name target;
  bool persistent = true;  // Buffer
  // Value to which torch.export specialized this user input (bool, int, float, string, None). The caller must
  // pass this value.
  std::optional<Argument> constant;

  bool has_data() const { return kind == Kind::Parameter || kind == Kind::Buffer || kind == Kind::Constant; }
};

struct OutputSpec {
  enum class Kind : std::uint8_t { UserOutput, BufferMutation, ParameterMutation, UserInputMutation, Token };
  Kind kind = Kind::UserOutput;
  Name target;  // mutations: the buffer's data key, or the name of the user input

  // True for a mutation of program state that persists until the next call.
  bool mutates_data() const { return kind == Kind::BufferMutation || kind == Kind::ParameterMutation; }
};

struct Method {
  Name name;
  Owned<Graph> graph;
  std::vector<Owned<Graph>> bodies;  // control-flow bodies used by nodes of this method
  std::vector<InputSpec> inputs;     // one per graph input
  std::vector<OutputSpec> outputs;   // one per graph output
  std::string in_spec;               // pytree of the arguments and results in torch's format; may be empty
  std::string out_spec;
};

struct CompileSpec {
  std::string key = {};
  std::vector<std::byte> value = {};
  friend bool operator==(const CompileSpec&, const CompileSpec&) = default;
};

// Identifier of an instruction of a delegate, as reported by the backend's profiler.
using DelegateDebugId = std::variant<std::int64_t, std::string>;
// Identifier -> ascending debug handles of the nodes it covers; in insertion order.
using DebugHandleMap = std::vector<std::pair<DelegateDebugId, std::vector<std::uint32_t>>>;

// Upper bound on alignments in written files, in bytes; a larger alignment would fill the file with padding.
inline constexpr std::uint64_t max_alignment = std::uint64_t{1} << 24;

// True for a power of two that is at most max_alignment.
constexpr bool is_alignment(std::uint64_t bytes) {
  return bytes != 0 && (bytes & (bytes - 1)) == 0 && bytes <= max_alignment;
}

// A blob that delegates and methods share by key.
struct NamedData {
  std::string key = {};
  std::shared_ptr<const Storage> storage = {};
  std::size_t alignment = 16;  // bytes; is_alignment()
  // If not empty, the bytes go to the .ptd file of this tag; the tag becomes part of the file name.
  std::string external_tag = {};
  // Type of the tensor, if the bytes are one: runtimes can then load it by key from a .ptd file. Named data
  // in a .pte file have no layout.
  std::optional<TensorType> layout = std::nullopt;
};

// Returns why the bytes do not fit the layout; empty if they fit or there is no layout.
DEPUTE_API std::string_view layout_fault(const NamedData& data);

// True for a nonempty text of letters, digits, '_' and '-', which can be part of a file name.
DEPUTE_API bool is_external_tag(std::string_view text);

class Program;

// Upper bound on Delegate::arena_padding, in bytes; more would be a mistake of the backend.
inline constexpr std::uint32_t max_arena_padding = 4096;

// A part of a program compiled by a backend (ExecuTorch's LoweredBackendModule).
struct Delegate {
  Name name;  // unique in the program
  std::string backend_id;
  std::vector<CompileSpec> compile_specs;
  std::shared_ptr<const Storage> processed_bytes;
  DebugHandleMap debug_handle_map;
  std::vector<NamedData> named_data;
  std::string delegate_info;
  std::uint32_t arena_padding = 0;  // bytes that the runtime delegate may read past the end of a tensor
  bool inline_bytes = false;        // the bytes are read while the method runs, so they are never a segment
  // Subprogram that was lowered: one method, whose graph inputs are in call order.
  std::shared_ptr<const Program> original;
  NameScope names = NameScope::current();  // keeps `name`
};

// Orders symbols by text, for maps that are written to files.
struct SymbolTextLess {
  bool operator()(Name a, Name b) const { return a.str() < b.str(); }
};

class DEPUTE_API Program {
 public:
  Program() : Program(torch_ops()) {}
  explicit Program(std::shared_ptr<const OpTable> op_table) : ops(std::move(op_table)) {}
  Program(Program&&) = default;
  Program& operator=(Program&&) = default;

  NameScope names = NameScope::current();           // keeps its names and expressions
  std::shared_ptr<const OpTable> ops;               // op table of all graphs; set by use_ops()
  std::vector<Owned<Method>> methods;               // in input order
  std::map<Name, TensorData, SymbolTextLess> data;  // constants by key
  Ranges ranges;                                    // ranges of symbols
  std::vector<Owned<Delegate>> delegates;           // in creation order

  Method* find_method(std::string_view name);
  const Method* find_method(std::string_view name) const;
  const Delegate* find_delegate(Name name) const;
  const TensorData* find_data(Name key) const;
  Name unique_data_key(std::string_view wanted) const;
  Method& add_method(Name name);
};

// Copies the graphs; shares constants, delegate bytes and original subprograms.
DEPUTE_API Program clone(const Program& program);
// A program without methods, for parts of this one: with its ops, its ranges of sizes and its names.
DEPUTE_API Program empty_like(const Program& program);

// Switches all graphs to another op table, which may know more ops.
DEPUTE_API void use_ops(Program& program, std::shared_ptr<const OpTable> ops);

// Constant of a method's input; null unless the value is a parameter, buffer or constant input. Null for an input of a
// body of control flow, whatever the call passes to it.
DEPUTE_API const TensorData* constant_data(const Program& program, const Method& method, const Value& value);
// Spec of a method's input; null for node results and for inputs of bodies.
DEPUTE_API const InputSpec* input_spec(const Method& method, const Value& value);
// True for a buffer or parameter that an output of the method mutates.
DEPUTE_API bool is_mutated(const Method& method, const InputSpec& spec);

// --- comparison
//
// Structural equality and hashing of programs. Compares ops, literals, kwargs, bodies, outputs, signatures,
// value names, tags, debug handles, and constants by content. Ignores source locations, storage sharing and
// the original subprograms of delegates.

// Describes the first difference ("method forward, node %relu: op aten.relu.default / aten.tanh.default").
// Returns nullopt for equal programs.
DEPUTE_API std::optional<std::string> first_difference(const Program& a, const Program& b);
DEPUTE_API bool equal(const Program& a, const Program& b);
DEPUTE_API bool equal(const NamedData& a, const NamedData& b);

// Compares two arguments. Values and graphs are compared by name, which is unique in a graph or method.
DEPUTE_API bool same_argument(const Argument& a, const Argument& b);

// Equal programs have equal hashes. O(nodes) unless `with_data`, which also hashes the bytes of constants.
DEPUTE_API Hash128 structural_hash(const Program& program, bool with_data = false);
// Hashes a graph and its bodies. Without `with_tags` the hash ignores delegation tags, which partitioners may
// change.
DEPUTE_API Hash128 structural_hash(const Graph& graph, bool with_tags = true);

// --- verification

// Maximum nesting of delegates in delegates.
inline constexpr std::size_t max_delegate_depth = 32;

// Verifies a program from outside (read from a file, or built by a caller) before other steps rely on it. Public
// functions that take a Program call it first, for example Compiler::load(), normalize() and to_backend(). Steps
// that take a stage (compiler.h) do not: a stage holds a verified program.
//
// Fails with the first error found:
// - a violated invariant: a use before its definition, specs that do not match, a constant without its data;
// - a call of a known op whose arguments or results do not fit its schema or its inference rule;
// - an op of the compiler's own, except for calls of an existing delegate with fitting arguments;
// - control flow with bodies that do not fit, nest too deeply or are too many;
// - any of these in a delegate's original subprogram.
DEPUTE_API Status verify_input(const Program& program);

// --- methods that return constants, beside the model's own methods
//
// Runners call them for metadata before they
// run the model (get_eos_ids, get_max_seq_len, ...).
//
//   method get_eos_ids() {
//     return 2, 3
//   }
//
// They are ordinary methods without inputs and nodes; a list becomes one result per element, as in
// ExecuTorch.

using ConstantValue = std::variant<bool, std::int64_t, double, std::string, TensorData>;

struct ConstantMethod {
  std::string name;
  std::vector<ConstantValue> values;  // results of the method
};

// Fails if the name is empty or in use, or if there are no values. Call it after partitioning: no backend
// should take these constants.
DEPUTE_API Status add_constant_method(Program& program, const ConstantMethod& method);

}  // namespace depute
