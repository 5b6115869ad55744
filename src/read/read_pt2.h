// Reads .pt2 archives, what torch.export.save writes: one method per model in it, weights left in the mapped
// file.
//
//   TRY(auto file, MappedFile::open("mlp.pt2"));
//   TRY(Program program, read_pt2(file));
//
// All layouts up to torch 2.13 are known (docs/formats.md). Whatever cannot be represented is refused with
// the entry, the place in its JSON and the byte offset.
#pragma once

#include <memory>
#include <string>

#include "depute/exported_model.h"
#include "depute/program.h"
#include "depute/result.h"
#include "read/limits.h"
#include "support/mapped_file.h"

namespace depute {

struct ReadOptions {
  // Name of the method of an archive with one model. Empty: the model's own name, but "forward" for the name
  // "model", which torch.export.save gives to all.
  std::string method = {};
  ReadLimits limits = {};
  std::shared_ptr<const OpTable> ops = torch_ops();  // of the program that is read
};

// Afterwards every parameter, buffer and constant input has data of its type in Program::data, every node a
// debug handle (1, 2, ... in order, bodies included) and, where the file tells, its source location.
Result<Program> read_pt2(std::shared_ptr<const MappedFile> file, const ReadOptions& options = {});
// The same of a program in memory, which `name` stands for in errors.
Result<Program> read_model(const ExportedModel& model, const std::string& name,
                           const ReadOptions& options = {});

}  // namespace depute
