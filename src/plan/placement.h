// Where every tensor of a method lives: in the constants, in planned memory (at which offset), in the state
// that is kept between calls, or in memory that the caller gives; and which nodes need no instruction because
// their results already lie there.
//
//   views share the bytes of what they view;
//   a pointwise op whose operand is not needed again writes over it;
//   what a buffer becomes is written where the buffer lies, when nobody needs its old content any more;
//   all other results get a block of their own, alive from the node that makes it to its last use.
#pragma once

#include <cstdint>
#include <vector>

#include "depute/program.h"
#include "plan/plan.h"
#include "plan/state.h"
#include "plan/tensor_bounds.h"
#include "plan/value_numbers.h"

namespace depute {

enum class PlaceKind : std::uint8_t {
  None,      // not a tensor
  Constant,  // base: the graph input that holds it
  Planned,   // at tensor.memory_offset
  Caller,    // the pointer is set when the program runs
  State,     // base: the graph input of a buffer that is kept between calls
};

struct PlacedValue {
  PlaceKind kind = PlaceKind::None;
  std::uint32_t base = 0;    // the value that owns the bytes; of other values than views: itself
  std::uint64_t offset = 0;  // bytes from the base's start
  std::uint64_t bytes = 0;   // at the upper bound of the sizes
  PlanTensor tensor;
};

enum class NodeAction : std::uint8_t {
  Call,    // an instruction of its own
  Alias,   // nothing: the results lie in the operand's memory
  Resize,  // the same, but sizes or pointer are known only when the program runs: et_view
};

// A value that lies in what the stores write over, and is wanted as it was.
struct OldContent {
  const Value* value = nullptr;
  PlanTensor copy;
};

struct Placement {
  ValueNumbers numbers;
  std::vector<PlacedValue> values;  // by number
  std::vector<NodeAction> actions;  // by node id
  std::uint64_t arena_bytes = 0;
  std::uint64_t state_bytes = 0;
  // At the end: copies of old contents, then the stores of what does not lie in its place already.
  std::vector<OldContent> old_contents;
  std::vector<Store> stores;
  std::vector<RefusedNode> refused;  // tensors that the runtime cannot hold: stand-ins have their places

  const PlacedValue& operator[](const Value& value) const { return values[numbers[value]]; }
};

Result<Placement> place_values(const Program& program, const Method& method, const State& state,
                               const PlanOptions& options);

}  // namespace depute
