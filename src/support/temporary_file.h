// TemporaryFile: a file with a unique name beside its destination. It is removed by its destructor, or when a
// signal ends the process (clean_up.h).
#pragma once

#include <sys/types.h>

#include <string>

#include "depute/program/result.h"
#include "support/clean_up.h"

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
  TemporaryFile(std::string path, int descriptor);

  std::string path_;  // empty: released
  int descriptor_ = -1;
  CleanUp removal_;
};

}  // namespace depute
