// Reads a program from a file of any kind the compiler takes, and joins several files into one program.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "support/mapped_file.h"
#include "support/result.h"

namespace depute {

// A .pt2 archive or the text form, told apart by the first bytes. "-" is standard input.
Result<Program> read_program(const std::string& path);
Result<Program> read_program(std::shared_ptr<const MappedFile> file);

// What the user names as an input: a file, a pipe, or "-" for standard input.
Result<std::shared_ptr<const MappedFile>> open_input(const std::string& path);

// Adds the only method of `from` to `to` under `name`. Data keys and symbols that mean something else in `to`
// are renamed to "name::key" and "name.symbol", in `from`.
Status join_method(Program& to, Program from, Symbol name);

}  // namespace depute
