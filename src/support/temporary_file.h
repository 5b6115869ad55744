// TemporaryFile: a file with a unique name beside its destination. It is removed by its destructor, or by
// remove_temporary_files() when a signal ends the process.
#pragma once

#include <sys/types.h>

#include <string>

#include "depute/result.h"

namespace depute {

class TemporaryFile {
 public:
  // Creates an empty file in the folder of `target`, with the permissions `mode` minus the umask.
  static Result<TemporaryFile> create(const std::string& target, mode_t mode);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }  // open for writing; -1 after close()
  Status close();
  // Keeps the file, which the caller has renamed.
  void release();

 private:
  TemporaryFile(std::string path, int descriptor, int slot);

  std::string path_;  // empty: released
  int descriptor_ = -1;
  int slot_ = -1;  // slot in the names for remove_temporary_files(); -1: none
};

// Removes the existing temporary files (at most 64). Safe to call from a signal handler in a process that
// ends.
void remove_temporary_files();

}  // namespace depute
