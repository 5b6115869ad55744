// A file under a name of its own beside the place where it is to appear; removed when its owner goes, and by
// remove_temporary_files() when a signal ends the process.
#pragma once

#include <sys/types.h>

#include <string>

#include "depute/result.h"

namespace depute {

class TemporaryFile {
 public:
  // An empty file in the folder of `target`, with the rights `mode` minus the umask.
  static Result<TemporaryFile> create(const std::string& target, mode_t mode);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }  // for writing; -1 when it was closed
  Status close();
  // The file has another name now, and is not removed any more.
  void release();

 private:
  TemporaryFile(std::string path, int descriptor, int slot);

  std::string path_;  // empty: released
  int descriptor_ = -1;
  int slot_ = -1;  // where remove_temporary_files() finds the name; -1: nowhere
};

// Removes the temporary files there are (of the first 64 at a time). Safe to call from a signal handler, for
// a process that ends.
void remove_temporary_files();

}  // namespace depute
