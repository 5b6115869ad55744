// Corrects the types of quotients that torch simplified as if their divisor were positive, and of what depends on
// them:
//
//   u in [-6, 9]: floordiv((u//m) + u, u) of the type (1//m) + 1, which is 2 for m = 4 and u = -1; it is 0
//     ->         the type ((u//m) + u)//u
//
// Sizes are computed by ops, but bounds and constants follow from types.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>

#include "depute/program/graph.h"

namespace depute {

class SizeCorrector {
 public:
  // `ranges` and the graph must outlive this object.
  SizeCorrector(Graph& graph, const Ranges& ranges) : graph_(graph), ranges_(ranges) {}

  // Call it for each node of the graph in order. Returns what is wrong with a node whose types depend on a corrected
  // one, but cannot be inferred.
  std::optional<std::string> correct(Node& node);

 private:
  void correct_quotient(Node& node);
  void correct_number(Node& node);
  std::optional<std::string> correct_tensors(Node& node);
  void set_type(Value& value, Type type);

  Graph& graph_;
  const Ranges& ranges_;
  std::unordered_set<const Value*> corrected_;
};

}  // namespace depute
