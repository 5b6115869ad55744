// Reads a program from any supported file, and joins several files into one program.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"
#include "support/mapped_file.h"

namespace depute {

// Reads a .pt2 archive or the text form, distinguished by the first bytes. "-" is standard input.
Result<Program> read_program(const std::string& path,
                             const std::shared_ptr<const OpTable>& ops = torch_ops());
Result<Program> read_program(std::shared_ptr<const MappedFile> file,
                             const std::shared_ptr<const OpTable>& ops = torch_ops());

// Opens an input that the user names: a file, a pipe, or "-" for standard input.
Result<std::shared_ptr<const MappedFile>> open_input(const std::string& path);
// Opens a lock or a manifest like open_input(). Fails if it exceeds the limit text_bytes.
Result<std::shared_ptr<const MappedFile>> open_text(const std::string& path);

// Adds the only method of `from` to `to` under `name`. Conflicting data keys and symbols of `from` are
// renamed to "name::key" and "name.symbol". The method then uses the ops of `to`.
Status join_method(Program& to, Program from, Name name);

}  // namespace depute
