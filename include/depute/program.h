// A program: methods by name, the constants they use, and the delegates that parts of them were handed to.
//
// Programs are values of the compiler: a step takes one by const reference or by move and gives another one.
// clone() copies graphs and shares all data. Nodes and values are referred to by pointer inside one program
// only. Nothing that is reached from a const Program can be edited, and reading it writes nothing, so any
// number of threads may read, lower and plan one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "depute/data.h"
#include "depute/graph.h"
#include "depute/owned.h"

#pragma GCC visibility push(default)

namespace depute {

// What a graph input is. `target` is the key into Program::data for the constant kinds (the tensor's fully
// qualified name), and the object's name for CustomObj.
struct InputSpec {
  enum class Kind : std::uint8_t { UserInput, Parameter, Buffer, Constant, CustomObj, Token };
  Kind kind = Kind::UserInput;
  Symbol target;
  bool persistent = true;  // Buffer
  // A user input that torch.export fixed to a value (bool, int, float, string, None): the caller must pass
  // this value.
  std::optional<Argument> constant;

  bool has_data() const { return kind == Kind::Parameter || kind == Kind::Buffer || kind == Kind::Constant; }
};

struct OutputSpec {
  enum class Kind : std::uint8_t { UserOutput, BufferMutation, ParameterMutation, UserInputMutation, Token };
  Kind kind = Kind::UserOutput;
  Symbol target;  // mutations: the buffer's data key, or the name of the user input

  // True for a mutation that the program keeps for the next call.
  bool mutates_data() const { return kind == Kind::BufferMutation || kind == Kind::ParameterMutation; }
};

struct Method {
  Symbol name;
  Owned<Graph> graph;
  std::vector<Owned<Graph>> bodies;  // control-flow bodies that nodes of this method refer to
  std::vector<InputSpec> inputs;     // one per graph input
  std::vector<OutputSpec> outputs;   // one per graph output
  std::string in_spec;  // pytree of the arguments and results, as torch writes them; may be empty
  std::string out_spec;
};

struct CompileSpec {
  std::string key = {};
  std::vector<std::byte> value = {};
  friend bool operator==(const CompileSpec&, const CompileSpec&) = default;
};

// Identifier of a piece of a delegate's own program: what the backend's profiler will report.
using DelegateDebugId = std::variant<std::int64_t, std::string>;
// Identifier -> debug handles of the nodes it stands for, ascending; in insertion order.
using DebugHandleMap = std::vector<std::pair<DelegateDebugId, std::vector<std::uint32_t>>>;

// Upper bound on an alignment in a written file, in bytes: a larger one would make a file of padding.
inline constexpr std::uint64_t max_alignment = std::uint64_t{1} << 24;

// True for a power of two that is at most max_alignment.
constexpr bool is_alignment(std::uint64_t bytes) {
  return bytes != 0 && (bytes & (bytes - 1)) == 0 && bytes <= max_alignment;
}

// A blob that a backend wants to share by key between delegates and methods.
struct NamedData {
  std::string key = {};
  std::shared_ptr<const Storage> storage = {};
  std::size_t alignment = 16;  // bytes; is_alignment()
  // Not empty: the bytes go to the .ptd file of this tag, whose name it becomes a part of.
  std::string external_tag = {};
  // The tensor that the bytes are, when they are one: runtimes can then load it by its key from a .ptd file,
  // which has layouts (a .pte's named data have none).
  std::optional<TensorType> layout = std::nullopt;
};

// Why the bytes are no such tensor; empty when they are, and without a layout.
std::string_view layout_fault(const NamedData& data);

// Letters, digits, '_' and '-' only: what may stand in the name of a file.
bool is_external_tag(std::string_view text);

class Program;

// Bytes; a backend that asked for more would have misunderstood what Delegate::arena_padding is.
inline constexpr std::uint32_t max_arena_padding = 4096;

// A part of a program in a backend's own form: ExecuTorch's LoweredBackendModule.
struct Delegate {
  Symbol name;  // unique in the program
  std::string backend_id;
  std::vector<CompileSpec> compile_specs;
  std::shared_ptr<const Storage> processed_bytes;
  DebugHandleMap debug_handle_map;
  std::vector<NamedData> named_data;
  std::string delegate_info;
  std::uint32_t arena_padding = 0;  // bytes that its runtime half may read past the end of a tensor
  bool inline_bytes = false;        // its bytes are read while it runs: they are never a segment
  std::shared_ptr<const Program>
      original;  // the subprogram that was handed over; one method, its graph inputs in call order
};

// Symbols in text order, for maps that are written out.
struct SymbolTextLess {
  bool operator()(Symbol a, Symbol b) const { return a.str() < b.str(); }
};

class Program {
 public:
  Program() : Program(torch_ops()) {}
  explicit Program(std::shared_ptr<const OpTable> op_table) : ops(std::move(op_table)) {}
  Program(Program&&) = default;
  Program& operator=(Program&&) = default;

  std::shared_ptr<const OpTable> ops;                 // of all its graphs: use_ops()
  std::vector<Owned<Method>> methods;                 // in input order
  std::map<Symbol, TensorData, SymbolTextLess> data;  // constants by key
  Ranges ranges;                                      // of symbols
  std::vector<Owned<Delegate>> delegates;             // in creation order

  Method* find_method(std::string_view name);
  const Method* find_method(std::string_view name) const;
  const Delegate* find_delegate(Symbol name) const;
  const TensorData* find_data(Symbol key) const;
  Symbol unique_data_key(std::string_view wanted) const;
  Method& add_method(Symbol name);
};

// A copy with its own graphs that shares constants, delegates' bytes and originals.
Program clone(const Program& program);

// Gives all graphs the records of another table, which may know more ops.
void use_ops(Program& program, std::shared_ptr<const OpTable> ops);

// Where a value of a method gets its constant from: null unless it is a parameter, buffer or constant input.
const TensorData* constant_data(const Program& program, const Method& method, const Value& value);
// The spec of a graph input value; null for node results.
const InputSpec* input_spec(const Method& method, const Value& value);
// True for a buffer (or parameter) that some output of the method mutates.
bool is_mutated(const Method& method, const InputSpec& spec);

}  // namespace depute

#pragma GCC visibility pop
