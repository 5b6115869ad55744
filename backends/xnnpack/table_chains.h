// Chains of elementwise nodes from integers of 8 bits to such integers, which the runtime replaces by one
// table of 256 results when it loads a payload. ExecuTorch 1.4.1 does so wrongly in two cases:
//
//   Multiply(x, 0.5), Add(., argument 0)     taken for a function of x alone: a crash, or another result
//   eleven nodes, one after the other        a table made of a table: its memory is freed twice
//
// There a node of two operands makes value 0, the delegate's argument 0, a member of its chain. A Reshape
// that changes nothing ends a chain; a Copy does not, since it is elementwise to the runtime.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph.h"

namespace depute::xnnpack {

class TableChains {
 public:
  struct ValueFacts {
    bool is_small = false;      // integers of 8 bits
    bool is_value_0 = false;    // argument 0 of the delegate
    bool is_single = false;     // a constant of one element
    std::uint32_t readers = 0;  // nodes, and the delegate's caller
  };

  explicit TableChains(std::vector<ValueFacts> values) : values_(std::move(values)), ends_(values_.size()) {}

  // Of each node, in order: the operand that it must not read as it is.
  std::optional<ValueId> add(NodeKind kind, std::span<const ValueId> inputs, ValueId output, bool is_clamped);

 private:
  struct Chain {
    std::size_t nodes = 0;
    ValueId start = no_value;  // no_value: there is no chain
  };

  Chain chain_at(ValueId value) const;
  std::optional<ValueId> extend(ValueId operand, ValueId output, std::size_t nodes);

  std::vector<ValueFacts> values_;
  std::vector<Chain> ends_;  // by value: the chain whose last node computes it
};

// Puts Reshapes where chains have to end, into a graph as it lies in memory.
void end_table_chains(XnnGraph& physical);

}  // namespace depute::xnnpack
