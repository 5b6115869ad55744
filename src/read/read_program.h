// Reads a program from a file of any kind the compiler takes, and joins several files into one program.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"
#include "support/mapped_file.h"

namespace depute {

// A .pt2 archive or the text form, told apart by the first bytes. "-" is standard input.
Result<Program> read_program(const std::string& path,
                             const std::shared_ptr<const OpTable>& ops = torch_ops());
Result<Program> read_program(std::shared_ptr<const MappedFile> file,
                             const std::shared_ptr<const OpTable>& ops = torch_ops());

// What the user names as an input: a file, a pipe, or "-" for standard input.
Result<std::shared_ptr<const MappedFile>> open_input(const std::string& path);

// Adds the only method of `from` to `to` under `name`. Data keys and symbols that mean something else in `to`
// are renamed to "name::key" and "name.symbol", in `from`. Its ops are those of `to` from now on.
Status join_method(Program& to, Program from, Symbol name);

}  // namespace depute
