// The answer of a backend's rule to a node: taken, or why not, in the words of reports.
//
//   if (x.rank() > 6) return Refusal{"rank", "7", "at most 6"};
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace depute::rules {

// The id of a rule, the seen value, and the allowed values.
struct Refusal {
  std::string_view rule;
  std::string seen;
  std::string allowed;
};
using Check = std::optional<Refusal>;  // nullopt: the node is taken

}  // namespace depute::rules

// Returns from the enclosing check if the inner check refuses.
#define DEPUTE_REFUSE_IF(...)                                     \
  do {                                                            \
    if (auto refusal_ = (__VA_ARGS__); refusal_) return refusal_; \
  } while (false)
