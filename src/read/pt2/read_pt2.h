// Reads .pt2 archives, the output of torch.export.save: one method per model, weights left in the mapped
// file.
//
//   TRY(auto file, MappedFile::open("mlp.pt2"));
//   TRY(Program program, read_pt2(file));
//
// All layouts up to torch 2.14 are supported (docs/formats.md). Unsupported content is rejected with the
// entry, the place in its JSON and the byte offset.
#pragma once

#include <memory>
#include <string>

#include "depute/compiler/exported_model.h"
#include "depute/program/program.h"
#include "depute/program/result.h"
#include "read/limits.h"
#include "support/mapped_file.h"

namespace depute {

struct ReadOptions {
  // Method name for an archive with one model. Empty: the model's name, or "forward" for the name "model",
  // the default of torch.export.save.
  std::string method = {};
  ReadLimits limits = {};
  std::shared_ptr<const OpTable> ops = torch_ops();  // op table of the program
};

// In the result, every parameter, buffer and constant input has data of its type in Program::data. Every node
// has a debug handle (1, 2, ... in order, including bodies) and, if the file has one, a source location.
Result<Program> read_pt2(std::shared_ptr<const MappedFile> file, const ReadOptions& options = {});
// Like read_pt2(), for a program in memory; `name` names it in errors.
Result<Program> read_model(const ExportedModel& model, const std::string& name,
                           const ReadOptions& options = {});

}  // namespace depute
