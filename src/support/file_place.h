// Identity and state of the file that a path refers to, through symbolic links, hard links, "./" and "..".
#pragma once

#include <string>

#include "platform/file.h"

namespace depute {

struct FilePlace : platform::FileInfo {
  std::string path;  // absolute and without links, as far as it can be resolved
};

FilePlace place_of_path(const std::string& path);
FilePlace place_of_stream(int number);  // of an open stream: 0 is standard input

// True if both are the same file, or would be once they exist.
bool is_same_file(const FilePlace& a, const FilePlace& b);
// True if the file was written, cut or replaced between the two looks at it. Streams never change.
bool has_changed(const platform::FileInfo& before, const platform::FileInfo& after);

}  // namespace depute
