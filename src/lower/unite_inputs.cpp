#include "lower/unite_inputs.h"

#include <algorithm>
#include <unordered_map>

namespace depute {

void unite_inputs(Method& method) {
  std::unordered_map<Name, Value*> first_of;
  std::vector<bool> keep(method.inputs.size(), true);
  for (Value* input : method.graph->inputs()) {
    const InputSpec& spec = method.inputs[input->index()];
    if (!spec.has_data()) continue;
    const auto [entry, is_first] = first_of.try_emplace(spec.target, input);
    if (is_first || entry->second->type() != input->type()) continue;
    method.graph->replace_uses(*input, entry->second);
    keep[input->index()] = false;
  }
  if (std::ranges::find(keep, false) == keep.end()) return;
  std::vector<InputSpec> kept;
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) kept.push_back(std::move(method.inputs[i]));
  }
  method.inputs = std::move(kept);
  method.graph->retain_inputs(keep);
}

}  // namespace depute
