// TemporaryFolder: a new folder in the system's folder for temporary files. It is removed with its content by
// the destructor, or when a signal ends the process (clean_up.h), also if another process renamed it.
//
//   TRY(TemporaryFolder folder, TemporaryFolder::create("depute-worker"));   // /tmp/depute-worker-k3Jd2f
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "depute/program/result.h"
#include "platform/file.h"
#include "support/clean_up.h"

namespace depute {

// Removes a folder and its content, also if permissions were removed. Removes a link, but does not follow it.
void remove_folder(const std::string& path);

class TemporaryFolder {
 public:
  // Creates a folder that only this user can access.
  static Result<TemporaryFolder> create(std::string_view name);
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;

  const std::string& path() const { return path_; }
  // False if the folder was renamed or released.
  bool is_in_place() const;
  // Keeps the folder, which now belongs to the caller.
  std::string release();

 private:
  explicit TemporaryFolder(std::string path);

  std::string path_;                              // empty: released
  std::shared_ptr<const platform::File> folder_;  // open, whatever its path is
  CleanUp removal_;
};

}  // namespace depute
