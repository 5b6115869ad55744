// The streams that this process was started with.
//
//   if (!platform::fill_standard_streams()) std::_Exit(1);
//   const bool has_color = platform::is_terminal(stdout);
#pragma once

#include <cstdio>
#include <string_view>

#include "platform/error.h"
#include "platform/file.h"

namespace depute::platform {

// Opens a stand-in for each closed standard stream, which fails on every read or write. Otherwise a newly opened file could
// get its number, and printed text would go into that file. Bytes pass unchanged afterwards.
bool fill_standard_streams();

bool is_terminal(std::FILE* stream);

// Returns standard output as a new file, and sends all further prints to standard error.
Expected<File> take_standard_output();

// Writes to standard error, without buffers, locks or memory.
void write_to_standard_error(std::string_view text);

}  // namespace depute::platform
