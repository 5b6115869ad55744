#include "tools/tune/delegation_plan.h"

#include <fmt/format.h>

#include "tools/report/option_text.h"

namespace depute {

LowerOptions DelegationPlan::applied_to(LowerOptions options) const {
  options.backends = backends;
  options.joint_planning = is_joint;
  return options;
}

std::vector<std::string> DelegationPlan::arguments() const {
  std::vector<std::string> texts;
  for (const BackendRequest& request : backends) texts.push_back(backend_argument(request));
  return texts;
}

std::string DelegationPlan::plan_text(const std::vector<std::string>& arguments, bool is_joint) {
  std::string text;
  for (const std::string& argument : arguments) text += fmt::format("--backend {} ", shell_word(argument));
  if (text.empty()) return "without delegates";
  return is_joint ? text + "--together" : text.substr(0, text.size() - 1);
}

}  // namespace depute
