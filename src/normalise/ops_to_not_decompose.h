// Ops that a partitioner wants to see whole although normalisation would decompose them.
#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"

namespace depute {

struct OpsToNotDecompose {
  std::vector<Symbol> ops;
  std::function<bool(const Node&)> filter;  // which nodes with these ops; empty: all of them
};

}  // namespace depute
