// A folder of its own in the system's place for temporary files; removed with all that is in it when its
// owner goes, and by remove_temporary_folders() when a signal ends the process.
//
//   TRY(TemporaryFolder folder, TemporaryFolder::create("depute-worker"));   // /tmp/depute-worker-k3Jd2f
#pragma once

#include <string>
#include <string_view>

#include "depute/result.h"

namespace depute {

class TemporaryFolder {
 public:
  // Nobody else may look into it.
  static Result<TemporaryFolder> create(std::string_view name);
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;

  const std::string& path() const { return path_; }
  // It stays, and is its caller's.
  std::string release();

 private:
  TemporaryFolder(std::string path, int slot) : path_(std::move(path)), slot_(slot) {}

  std::string path_;  // empty: released
  int slot_ = -1;     // where remove_temporary_folders() finds the path; -1: nowhere
};

// Removes a folder and all below it, also where somebody has taken the right to from us. Follows no link.
void remove_folder(const std::string& path);

// Removes the temporary folders there are (of the first 256 at a time) by the program rm. Safe to call from a
// signal handler, for a process that ends.
void remove_temporary_folders();

}  // namespace depute
