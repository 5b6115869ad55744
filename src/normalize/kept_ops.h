// Selects nodes that must not be decomposed (NormalizeOptions::ops_to_not_decompose).
#pragma once

#include <unordered_map>
#include <vector>

#include "depute/program/op.h"
#include "support/guarded.h"

namespace depute {

// Keeps pointers into the list that it is constructed from.
class KeptOps {
 public:
  explicit KeptOps(const std::vector<OpsToNotDecompose>& wishes) {
    for (const OpsToNotDecompose& wish : wishes) {
      for (Name op : wish.ops) wishes_[op].push_back(&wish);
    }
  }
  bool keeps(const Node& node) const {
    auto found = wishes_.find(node.op());
    if (found == wishes_.end()) return false;
    for (const OpsToNotDecompose* wish : found->second) {
      if (!wish->filter || keeps(*wish, node)) return true;
    }
    return false;
  }

 private:
  static bool keeps(const OpsToNotDecompose& wish, const Node& node) {
    return value_or_throw(
        call_foreign("callback", "filter of ops_to_not_decompose", [&] { return wish.filter(node); }));
  }

  std::unordered_map<Name, std::vector<const OpsToNotDecompose*>> wishes_;
};

}  // namespace depute
