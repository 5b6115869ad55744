// Ops that a partitioner wants to see undecomposed, although normalization would decompose them.
#pragma once

#include <functional>
#include <vector>

#include "depute/program/graph.h"

#pragma GCC visibility push(default)

namespace depute {

struct OpsToNotDecompose {
  std::vector<Name> ops;
  std::function<bool(const Node&)> filter;  // selects nodes with these ops; empty: all
};

}  // namespace depute

#pragma GCC visibility pop
