// TemporaryFile: a file with a unique name beside its destination. It is removed by its destructor, or when a
// signal ends the process (clean_up.h).
#pragma once

#include <cstdint>
#include <string>

#include "depute/program/result.h"
#include "platform/file.h"
#include "support/clean_up.h"

namespace depute {

class TemporaryFile {
 public:
  // Creates an empty file in the folder of `target`, with the permissions minus the umask.
  static Result<TemporaryFile> create(const std::string& target, std::uint32_t permissions);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  const std::string& path() const { return path_; }
  const platform::File& file() const { return file_; }  // open for writing, until close()
  Status close();
  // Keeps the file, which the caller has renamed.
  void release();

 private:
  TemporaryFile(std::string path, platform::File file);

  std::string path_;  // empty: released
  platform::File file_;
  CleanUp removal_;
};

}  // namespace depute
