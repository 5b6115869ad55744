// TemporaryFolder: a new folder in the system's folder for temporary files. It is removed with its content by
// the destructor, or by remove_temporary_folders() when a signal ends the process.
//
//   TRY(TemporaryFolder folder, TemporaryFolder::create("depute-worker"));   // /tmp/depute-worker-k3Jd2f
#pragma once

#include <string>
#include <string_view>

#include "depute/result.h"

namespace depute {

class TemporaryFolder {
 public:
  // Creates a folder that only this user can access.
  static Result<TemporaryFolder> create(std::string_view name);
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;

  const std::string& path() const { return path_; }
  // Keeps the folder, which now belongs to the caller.
  std::string release();

 private:
  TemporaryFolder(std::string path, int slot) : path_(std::move(path)), slot_(slot) {}

  std::string path_;  // empty: released
  int slot_ = -1;     // slot in the paths for remove_temporary_folders(); -1: none
};

// Removes a folder and its content, also if permissions were removed. Does not follow links.
void remove_folder(const std::string& path);

// Removes the existing temporary folders (at most 256) by running rm. Safe to call from a signal handler in a
// process that ends.
void remove_temporary_folders();

}  // namespace depute
