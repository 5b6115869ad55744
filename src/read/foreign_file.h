// Tells what a file is that people give to a compiler of exported programs and that is none: a model in the
// format of another tool, weights alone, what another compiler made, a download that went wrong. The content
// decides, never the name of the file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "read/archive.h"

namespace depute {

struct ForeignFile {
  std::string_view what;  // "an ONNX model"
  std::string_view hint;  // what to do instead
  bool is_text = false;
};

// "this is an ONNX model, not an exported program"
std::string not_a_program(const ForeignFile& foreign);

// Of a file that is no zip archive; nothing for a program in the text form.
std::optional<ForeignFile> recognise_foreign(std::span<const std::byte> file);

// Of an archive without the entries of a .pt2; nothing when it is none of the known kinds.
std::optional<ForeignFile> recognise_foreign(const Archive& archive);

}  // namespace depute
