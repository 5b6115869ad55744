// Finds a program of Arm that reads TOSA flatbuffers, such as model-converter and vela. Depute contains none of them:
// they are Python packages.
//
//   TRY(const std::string program, find_tool(vela, option));
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "depute/program/result.h"

namespace depute::tosa {

struct ToolKind {
  std::string_view backend;                // code of errors: "vgf"
  std::string_view what;                   // "Arm's model-converter, which makes VGF files,"
  std::string_view option;                 // of the backend, for errors: "converter"
  std::span<const char* const> variables;  // of the environment, which name a program
  std::span<const char* const> names;      // that pip gives it in bin/
  // The program below site-packages, which the one in bin/ starts: "model_converter/binaries/bin/model-converter". Empty
  // if the one in bin/ is the program itself.
  std::string_view in_packages;
  std::string_view hint;  // how to install it
};

// Returns the path of the program: `chosen` if not empty, else what a variable names, else the first that is found on
// PATH, in the active Python environment, and in the one that Depute itself is installed in. The environment is read at
// each call.
Result<std::string> find_tool(const ToolKind& kind, std::string_view chosen = {});

}  // namespace depute::tosa
