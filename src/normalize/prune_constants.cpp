// Drops parameters, buffers and constants that no node uses, such as the float weights of quantized layers or
// removed heads. A buffer that is only written stays, since its content is an effect of the program.
#include <unordered_set>

#include "normalize/passes.h"

namespace depute {

// Afterwards every parameter, buffer and constant of every method is used or stored to, and Program::data has
// no others.
Status prune_constants(Program& program, const NormalizeOptions&) {
  std::unordered_set<Name> used;
  for (auto& method : program.methods) {
    std::vector<InputSpec> specs;
    std::vector<bool> keep;
    for (const Value* input : method->graph->inputs()) {
      const InputSpec& spec = method->inputs[input->index()];
      keep.push_back(!spec.has_data() || input->has_uses() || is_mutated(*method, spec));
      if (!keep.back()) continue;
      if (spec.has_data()) used.insert(spec.target);
      specs.push_back(spec);
    }
    if (specs.size() == method->inputs.size()) continue;
    method->graph->retain_inputs(keep);
    method->inputs = std::move(specs);
  }
  std::erase_if(program.data, [&](const auto& entry) { return !used.contains(entry.first); });
  return {};
}

}  // namespace depute
