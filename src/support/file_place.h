// Identity and state of the file that a path refers to, through symbolic links, hard links, "./" and "..".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace depute {

struct FilePlace {
  std::string path;  // absolute and without links, as far as it can be resolved
  bool exists = false;
  dev_t device = 0;  // set for an existing file
  ino_t inode = 0;
  mode_t mode = 0;
  uid_t owner = 0;
  gid_t group = 0;
  off_t size = 0;             // bytes
  std::int64_t modified = 0;  // nanoseconds since 1970

  bool is_directory() const;
  bool is_regular() const;
};

FilePlace place_of_path(const std::string& path);
FilePlace place_of_descriptor(int descriptor);

// True if both are the same file, or would be once they exist.
bool is_same_file(const FilePlace& a, const FilePlace& b);
// True if the file was written, cut or replaced between the two looks at it. Streams never change.
bool has_changed(const FilePlace& before, const FilePlace& after);

}  // namespace depute
