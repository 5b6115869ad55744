// Finds strongly connected components: sets of vertices that reach each other. They are numbered in
// topological order: an edge between two components leads from the smaller to the larger number.
//
//   a <-> b -> c        component of a and b: 0, of c: 1
#pragma once

#include <cstdint>
#include <vector>

#include "regions/region_graph.h"

namespace depute {

struct Components {
  std::vector<std::uint32_t> of;  // by vertex
  std::uint32_t count = 0;
};

// `preds` lists the sources of each vertex's incoming edges. Linear time, no recursion (Tarjan's method).
Components strongly_connected(const Csr& preds);

}  // namespace depute
