// Identifies files that users pass to a compiler by mistake: a model in another tool's format, weights alone,
// output of another compiler, a failed download. Only the content decides, never the file name.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "read/pt2/archive.h"

namespace depute {

struct ForeignFile {
  std::string_view what;  // "an ONNX model"
  std::string_view hint;  // the suggested action
  bool is_text = false;
};

// Returns "this is an ONNX model, not an exported program".
std::string not_a_program(const ForeignFile& foreign);

// For a file that is not a zip archive; nullopt for a program in the text form.
std::optional<ForeignFile> recognize_foreign(std::span<const std::byte> file);

// For an archive without the entries of a .pt2; nullopt if it is of no known kind.
std::optional<ForeignFile> recognize_foreign(const Archive& archive);

}  // namespace depute
