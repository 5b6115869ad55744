// Programs and libraries as files: our own, and those to run.
//
//   for (const std::string& folder : platform::folders_on_path())
//     if (platform::is_program(folder + "/curl")) return folder + "/curl";
#pragma once

#include <span>
#include <string>
#include <vector>

#include "platform/error.h"

namespace depute::platform {

// A path that leads to the program of this process, perhaps by a link of the system.
std::string own_program();
// The file of the program or library that has this function; may be relative to a folder that is no longer the
// current one. Empty if unknown.
std::string file_of_code(const void* function);

bool is_program(const std::string& path);
extern const char path_separator;  // of folders in PATH
// The folders that PATH names, without empty names.
std::vector<std::string> folders_on_path();

void set_variable(const char* name, const std::string& value);  // of the environment
// Runs a program in place of this one. Returns only if it cannot be started.
std::error_code become_program(const std::string& path, std::span<char*> words);

}  // namespace depute::platform
