// Describes a method as ExecuTorch's runtime executes it, in plain structs. The planner creates it; .pte
// files are written from it and read into it.
//
//   values         0 Tensor f32[2, 3] memory 1+0, 1 Tensor f32[2, 3] constant 1, 2 Int 1, ...
//   instructions   aten::add.out(0, 1, 2, 3, 3)           arguments are indices of values
//
// The lists of all values share the vectors `items`, `doubles` and `strings`, so a plan of a million nodes
// needs few allocations. Names follow the file format (program.fbs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "depute/program/small_vector.h"

namespace depute {

enum class ShapeDynamism : std::uint8_t { Static, DynamicBound, DynamicUnbound };

// Where memory is: the CPU, or a device of a kind with a runtime of its own.
struct PlanDevice {
  std::uint8_t type = 0;  // ExecuTorch's numbering: 0 the CPU, 1 CUDA
  std::int8_t index = 0;

  friend bool operator==(const PlanDevice&, const PlanDevice&) = default;
};

struct PlanTensor {
  int scalar_type = 0;  // ExecuTorch's numbering
  ShapeDynamism dynamism = ShapeDynamism::Static;
  SmallVector<std::int32_t, 4> sizes;  // upper bounds if dynamic
  SmallVector<std::uint8_t, 8> dim_order;
  std::uint32_t constant = 0;   // data_buffer_idx: 0, or an index of the constants
  std::uint32_t memory_id = 0;  // 0: not planned
  std::uint64_t memory_offset = 0;
  bool is_external = false;  // data comes from a .ptd file by name
  std::string name;          // fully qualified; may be empty
  PlanDevice device;

  bool has_layout_of(const PlanTensor& other) const {
    return scalar_type == other.scalar_type && sizes == other.sizes && dim_order == other.dim_order;
  }
};

// A value of a method; the kind decides which fields are used.
struct EValue {
  // In the order of the file format's union, from 1.
  enum class Kind : std::uint8_t {
    Null = 1,
    Int,
    Bool,
    Double,
    Tensor,
    String,
    IntList,
    DoubleList,
    BoolList,
    TensorList,
    OptionalTensorList
  };
  Kind kind = Kind::Null;
  std::uint32_t first = 0;     // index: Tensor in tensors, String in strings, lists in items or doubles
  std::uint32_t count = 0;     // lists: number of elements
  std::int64_t int_value = 0;  // Int, Bool
  double double_value = 0;     // Double
};

struct PlanOperator {
  std::string name;      // "aten::add"
  std::string overload;  // "out"; may be empty

  std::string str() const { return overload.empty() ? name : name + "." + overload; }
  friend bool operator==(const PlanOperator&, const PlanOperator&) = default;
};

struct PlanDelegate {
  std::string backend_id;
  std::vector<std::pair<std::string, std::vector<std::byte>>> compile_specs;
  bool is_inline = false;   // the blob lies in the flatbuffer
  std::uint32_t index = 0;  // plan: index in Program::delegates; file: of its segments or inline blobs
};

struct Instruction {
  enum class Kind : std::uint8_t { KernelCall = 1, DelegateCall, MoveCall, JumpFalseCall, FreeCall };
  Kind kind = Kind::KernelCall;
  std::int32_t index = 0;       // operator, delegate, or the value to move, test or free
  std::int32_t target = 0;      // MoveCall: the value to set; JumpFalseCall: the instruction to jump to
  std::uint32_t first_arg = 0;  // index in ExecutionPlan::args
  std::uint32_t arg_count = 0;
};

// A line of the model.
struct PlanFrame {
  std::string file;
  std::int32_t line = 0;
  std::string function;
  std::string text;  // of the line

  auto operator<=>(const PlanFrame&) const = default;
};

// The model's lines of a method's instructions. Files and this struct have each line and each trace once.
struct StackTraces {
  std::vector<PlanFrame> frames;
  std::vector<std::vector<std::uint32_t>> traces;  // indices of frames, the innermost last
  std::vector<std::uint32_t> of_instructions;  // per instruction: index of its trace; empty: there are none

  // Calls `visit` with each line of the instruction.
  template <typename Visit>
  void for_each_frame(std::size_t instruction, Visit&& visit) const {
    if (instruction >= of_instructions.size()) return;
    for (const std::uint32_t frame : traces[of_instructions[instruction]]) visit(frames[frame]);
  }
};

// Use of one memory bank by the method, in bytes.
struct PlanBank {
  std::string name;
  std::uint32_t memory_id = 0;
  std::uint64_t size = 0;
  std::uint64_t used = 0;     // of the arena, from its start
  std::uint64_t peak = 0;     // that are alive at one time
  std::uint64_t traffic = 0;  // that are written and read in one call
};

struct ExecutionPlan {
  std::string name;
  std::string in_spec;  // how the caller's arguments and results nest, in torch's notation
  std::string out_spec;
  std::vector<EValue> values;
  std::vector<PlanTensor> tensors;
  // Elements of lists: value indices for ints and tensors, 0 or 1 for bools.
  std::vector<std::int64_t> items;
  std::vector<double> doubles;
  std::vector<std::string> strings;
  std::vector<std::int32_t> inputs;  // indices of values
  std::vector<std::int32_t> outputs;
  std::vector<PlanOperator> operators;
  std::vector<PlanDelegate> delegates;
  std::vector<Instruction> instructions;
  std::vector<std::uint32_t> debug_handles;  // per instruction: handle of its node; 0: none
  // Per instruction: all handles, if its node represents several nodes.
  std::map<std::size_t, std::vector<std::uint32_t>> replaced_handles;
  // Plans only, per instruction: the called index in Program::delegates if an equal delegate is executed
  // instead.
  std::map<std::size_t, std::uint32_t> stood_for;
  std::vector<std::int32_t> args;  // arguments of all instructions
  StackTraces stack_traces;
  std::vector<std::int64_t> memory_sizes;              // per memory_id; [0] is unused
  std::map<std::uint32_t, PlanDevice> memory_devices;  // by memory_id; all others are on the CPU
  std::vector<PlanBank> banks;                         // plans only: WriteOptions::banks

  // For plans: returns the index in Program::delegates that a DelegateCall calls.
  std::uint32_t called_delegate(std::size_t instruction) const {
    const auto found = stood_for.find(instruction);
    if (found != stood_for.end()) return found->second;
    return delegates[static_cast<std::size_t>(instructions[instruction].index)].index;
  }

  std::span<const std::int64_t> list_items(const EValue& value) const {
    return std::span(items).subspan(value.first, value.count);
  }
  // Returns the items of a list, or an empty span for other values.
  std::span<const std::int64_t> list_items_if_any(const EValue& value) const {
    bool has_items = value.kind == EValue::Kind::IntList || value.kind == EValue::Kind::BoolList ||
                     value.kind == EValue::Kind::TensorList || value.kind == EValue::Kind::OptionalTensorList;
    return has_items ? list_items(value) : std::span<const std::int64_t>();
  }
  std::span<const double> list_doubles(const EValue& value) const {
    return std::span(doubles).subspan(value.first, value.count);
  }
  std::span<const std::int32_t> args_of(const Instruction& instruction) const {
    return std::span(args).subspan(instruction.first_arg, instruction.arg_count);
  }
};

}  // namespace depute
