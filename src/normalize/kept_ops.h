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
  explicit KeptOps(const std::vector<OpsToNotDecompose>& lists) {
    for (const OpsToNotDecompose& list : lists) {
      for (Name op : list.ops) kept_[op].push_back(&list);
    }
  }
  bool keeps(const Node& node) const {
    auto found = kept_.find(node.op());
    if (found == kept_.end()) return false;
    for (const OpsToNotDecompose* list : found->second) {
      if (!list->filter || keeps(*list, node)) return true;
    }
    return false;
  }

 private:
  static bool keeps(const OpsToNotDecompose& list, const Node& node) {
    return value_or_throw(
        call_foreign("callback", "filter of ops_to_not_decompose", [&] { return list.filter(node); }));
  }

  std::unordered_map<Name, std::vector<const OpsToNotDecompose*>> kept_;
};

}  // namespace depute
