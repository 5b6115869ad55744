// Errors of passes; those at a node carry the user's line.
#pragma once

#include <string_view>

#include "ir/walk.h"

namespace depute {

// What a pass refuses; run_passes() puts the name of the pass in front.
inline Failure pass_error(std::string_view where, std::string_view message, std::string_view hint = {}) {
  return failure("normalise", where, message, hint);
}

// The same at a node: "method forward, %add_1 (aten.add_.Tensor)" with the node's source line.
inline Failure node_error(const Node& node, std::string_view message, std::string_view hint = {}) {
  return node_failure(node, "normalise", message, hint, place_of(node));
}

}  // namespace depute
