// A way to delegate a program: the backends that are asked, their options, and their order.
#pragma once

#include <string>
#include <vector>

#include "depute/compiler/compiler.h"

namespace depute {

struct DelegationPlan {
  std::vector<BackendRequest> backends;
  bool is_joint = false;  // --together

  LowerOptions applied_to(LowerOptions options) const;
  // The arguments of --backend, one for each backend.
  std::vector<std::string> arguments() const;
  std::string text() const { return plan_text(arguments(), is_joint); }

  // "--backend xnnpack:min_nodes=4"; "without delegates" if no backend is asked.
  static std::string plan_text(const std::vector<std::string>& arguments, bool is_joint);
};

}  // namespace depute
