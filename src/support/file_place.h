// Which file a path means, however it is written: through symbolic links, hard links, "./" and "..".
#pragma once

#include <sys/types.h>

#include <string>

namespace depute {

struct FilePlace {
  std::string path;  // absolute and without links as far as that is known
  bool exists = false;
  dev_t device = 0;  // of an existing file
  ino_t inode = 0;
  mode_t mode = 0;

  bool is_directory() const;
  bool is_regular() const;
};

FilePlace place_of_path(const std::string& path);
FilePlace place_of_descriptor(int descriptor);

// Both are the same file, or would be.
bool is_same_file(const FilePlace& a, const FilePlace& b);

}  // namespace depute
