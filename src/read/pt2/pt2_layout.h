// Finds the models in a .pt2 archive and the entries of each, in all layouts that torch has used:
//
//   since 2.9   mlp/models/NAME.json, mlp/data/weights/NAME_weights_config.json and weight_0, weight_1, ...
//   2.8         as since 2.9, with mlp/data/weights/NAME.pt, a file of torch.save
//   up to 2.7   serialized_exported_program.json, serialized_state_dict.pt, serialized_constants.pt
#pragma once

#include <string>
#include <vector>

#include "read/pt2/archive.h"

namespace depute {

// Tensors of a model: a config that lists their entries, or one torch.save file, or none.
struct PayloadEntries {
  const ArchiveEntry* config = nullptr;
  const ArchiveEntry* torch_save = nullptr;
  std::string directory;  // directory of the entries that the config lists
};

struct ModelEntries {
  std::string name;
  const ArchiveEntry* program = nullptr;  // JSON
  PayloadEntries weights;
  PayloadEntries constants;
};

// Returns the models in the archive's order; fails if there is none.
Result<std::vector<ModelEntries>> find_models(const Archive& archive, const ReadLimits& limits);

}  // namespace depute
