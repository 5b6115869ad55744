#include "normalize/mutated_data.h"

namespace depute {

std::unordered_set<Name> mutated_data(const Program& program) {
  std::unordered_set<Name> keys;
  for (const auto& method : program.methods) {
    for (const OutputSpec& output : method->outputs)
      if (output.mutates_data()) keys.insert(output.target);
  }
  return keys;
}

}  // namespace depute
