// Chains of elementwise nodes on 8-bit integers, which the runtime replaces by one table of 256 results when
// it loads a payload. ExecuTorch 1.4.1 has two bugs here:
//
//   Multiply(x, 0.5), Add(., argument 0)     taken for a function of x alone: a crash, or another result
//   eleven nodes, one after the other        a table made of a table: its memory is freed twice
//
// In such a chain, the runtime treats value 0 (the delegate's argument 0) as part of the chain if a node with
// two operands reads it. A Reshape without effect ends a chain; a Copy does not, since the runtime treats it
// as elementwise.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backends/xnnpack/graph.h"

namespace depute::xnnpack {

class TableChains {
 public:
  struct ValueFacts {
    bool is_small = false;      // 8-bit integers
    bool is_value_0 = false;    // argument 0 of the delegate
    bool is_single = false;     // a constant with one element
    std::uint32_t readers = 0;  // nodes, and the delegate's caller
  };

  explicit TableChains(std::vector<ValueFacts> values) : values_(std::move(values)), ends_(values_.size()) {}

  // Adds the next node. Returns the operand that the node must not read directly, or nullopt.
  std::optional<ValueId> add(NodeKind kind, std::span<const ValueId> inputs, ValueId output, bool is_clamped);

 private:
  struct Chain {
    std::size_t nodes = 0;
    ValueId start = no_value;  // no_value means no chain
  };

  Chain chain_at(ValueId value) const;
  std::optional<ValueId> extend(ValueId operand, ValueId output, std::size_t nodes);

  std::vector<ValueFacts> values_;
  std::vector<Chain> ends_;  // by value: the chain whose last node computes it
};

// Inserts Reshapes into a physical graph where chains have to end.
void end_table_chains(XnnGraph& physical);

}  // namespace depute::xnnpack
