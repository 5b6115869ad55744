// What the nodes of a method ask of its values, found in one walk from the last node to the first: which
// nodes are views, who needs aligned bytes, and how long a view would keep its base alive.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "depute/program.h"
#include "ir/node_order.h"
#include "plan/value_numbers.h"
#include "plan/views.h"

namespace depute {

struct ValueUses {
  std::vector<std::optional<View>> views;  // by node id
  std::uint32_t arena_padding = 0;         // the most that a delegate of the method needs

  // By value.
  std::vector<bool> is_output;           // of the user; stores are none
  std::vector<bool> must_align;          // a delegate reads it, directly or through views
  std::vector<std::uint32_t> last_use;   // time, views of it included
  std::vector<std::uint32_t> whole_end;  // the same without cuts of it and what becomes of them
  std::vector<std::uint64_t> cut_bytes;  // of all cuts of it
};

// Time is the node's place + 1; outputs are read after the last node. `bytes` is the size of each value.
ValueUses find_uses(const Program& program, const Method& method, const NodeOrder& order,
                    const ValueNumbers& numbers, const std::vector<std::uint64_t>& bytes);

}  // namespace depute
