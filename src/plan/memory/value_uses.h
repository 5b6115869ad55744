// Finds how the nodes of a method use its values, in one walk from the last node to the first. Records views,
// values that need alignment, and how long a view would keep its base alive.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "depute/program/program.h"
#include "ir/delegate_index.h"
#include "ir/node_order.h"
#include "plan/memory/views.h"
#include "plan/value_numbers.h"

namespace depute {

struct ValueUses {
  std::vector<std::optional<View>> views;  // by node id
  std::uint32_t arena_padding = 0;         // maximum that a delegate of the method needs

  // Indexed by value number.
  std::vector<bool> is_output;           // output for the user; stores do not count
  std::vector<bool> must_align;          // a delegate reads it, directly or through views
  std::vector<std::uint32_t> last_use;   // time, including uses of its views
  std::vector<std::uint32_t> whole_end;  // last use without slices of it and their views
  std::vector<std::uint64_t> cut_bytes;  // total bytes of all slices of it
};

// A node's time is its position + 1; outputs are read after the last node. `bytes` holds the size of each
// value.
ValueUses find_uses(const DelegateIndex& delegates, const Method& method, const NodeOrder& order,
                    const ValueNumbers& numbers, const std::vector<std::uint64_t>& bytes);

}  // namespace depute
