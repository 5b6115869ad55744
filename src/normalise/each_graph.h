// What most passes start with: every graph of a program, and errors that carry the user's line.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "depute/program.h"
#include "support/try.h"

namespace depute {

// Calls visit(method, graph) on each method's graph and its bodies; stops at the first error.
template <typename Visit>
Status for_each_graph(Program& program, Visit&& visit) {
  for (auto& method : program.methods) {
    TRY_STATUS(visit(*method, *method->graph));
    for (auto& body : method->bodies) TRY_STATUS(visit(*method, *body));
  }
  return {};
}

// What a pass refuses; run_passes() puts the name of the pass in front.
inline Failure pass_error(std::string_view where, std::string_view message, std::string_view hint = {}) {
  return failure("normalise", where, message, hint);
}

// The same at a node: "method forward, %add_1 (aten.add_.Tensor)" with the node's source line.
inline Failure node_error(const Node& node, std::string_view message, std::string_view hint = {}) {
  std::string where =
      fmt::format("{}, %{} ({})", node.graph().name().str(), node.display_name(), node.op().str());
  return node_failure(node, "normalise", message, hint, where);
}

}  // namespace depute
