// Errors of passes; an error at a node has the user's source line.
#pragma once

#include <string_view>

#include "depute/program/walk.h"

namespace depute {

// Returns an error of a pass; run_passes() prefixes it with the name of the pass.
inline Failure pass_error(std::string_view where, std::string_view message, std::string_view hint = {}) {
  return failure("normalize", where, message, hint);
}

// Returns an error at a node: "method forward, %add_1 (aten.add_.Tensor)" with the node's source line.
inline Failure node_error(const Node& node, std::string_view message, std::string_view hint = {}) {
  return node_failure(node, "normalize", message, hint, place_of(node));
}

}  // namespace depute
