// Ops that a partitioner wants to see whole although normalisation would decompose them.
#pragma once

#include <functional>
#include <vector>

#include "depute/graph.h"

#pragma GCC visibility push(default)

namespace depute {

struct OpsToNotDecompose {
  std::vector<Symbol> ops;
  std::function<bool(const Node&)> filter;  // which nodes with these ops; empty: all of them
};

}  // namespace depute

#pragma GCC visibility pop
