#include "support/temporary_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace depute {
namespace {

namespace fs = std::filesystem;

// Grants the owner all permissions, without which the content of a folder cannot be removed.
void take_rights(const fs::path& folder) {
  std::error_code error;
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, error);
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.symlink_status(error).type() == fs::file_type::directory) take_rights(entry.path());
  }
}

}  // namespace

void remove_folder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  take_rights(path);
  fs::remove_all(path, error);
}

Result<TemporaryFolder> TemporaryFolder::create(std::string_view name) {
  std::error_code error;
  const fs::path place = fs::temp_directory_path(error);
  if (error) return failure("write", "TMPDIR", error.message());
  std::string path = fs::absolute(place / (std::string(name) + "-XXXXXX")).string();
  const auto held = delay_signals();
  if (mkdtemp(path.data()) == nullptr) return failure("write", path, std::strerror(errno));
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), removal_(std::move(other.removal_)) {}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) remove_folder(path_);
}

std::string TemporaryFolder::release() {
  removal_ = {};
  return std::exchange(path_, {});
}

}  // namespace depute
