// Writes programs as .pt2 archives, which torch.export.load and read/pt2/read_pt2.cpp read.
//
//   part/models/model.json, part/data/weights/model_weights_config.json, part/data/weights/weight_0, ...
#pragma once

#include "depute/program/program.h"
#include "depute/program/result.h"
#include "support/output.h"

namespace depute {

// Writes a program of one method without delegates. Tensors that share memory also share it in the archive.
// The caller commits the output.
Status write_pt2(const Program& program, Output& output);

}  // namespace depute
