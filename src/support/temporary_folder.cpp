#include "support/temporary_folder.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "platform/file_system.h"
#include "support/file_place.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

// Grants the owner all permissions, without which the content of a folder cannot be removed.
void take_rights(const fs::path& folder) {
  std::error_code error;
  if (fs::symlink_status(folder, error).type() != fs::file_type::directory) return;
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, error);
  for (const auto& entry : fs::directory_iterator(folder, error)) take_rights(entry.path());
}

// True if the path leads to the open folder.
bool leads_to(const std::string& path, const platform::File& folder) {
  const FilePlace place{folder.info().value_or(platform::FileInfo()), {}};
  return place.exists() && is_same_file(place_of_path(path), place);
}

// Removes the folder at its current path, and what is now at its first path.
void remove_open_folder(const std::string& path, const platform::File& folder) {
  const std::string current = platform::path_of(folder);
  remove_folder(path);
  if (!current.empty() && leads_to(current, folder)) remove_folder(current);
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
  std::string path = fs::absolute(place / (std::string(name) + "-XXXXXX")).generic_string();
  const auto held = delay_signals();
  error = platform::create_unique_folder(path);
  if (error) return failure("write", path, error.message());
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(std::string path)
    : path_(std::move(path)),
      folder_(
          std::make_shared<platform::File>(platform::File::open_folder(path_).value_or(platform::File()))),
      removal_([path = path_, folder = folder_] { remove_open_folder(path, *folder); }) {}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      folder_(std::move(other.folder_)),
      removal_(std::move(other.removal_)) {}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) remove_open_folder(path_, *folder_);
}

bool TemporaryFolder::is_in_place() const {
  const auto info = platform::info_of_name(path_);
  return info && info->is_folder() && leads_to(path_, *folder_);
}

std::string TemporaryFolder::release() {
  removal_ = {};
  return std::exchange(path_, {});
}

}  // namespace depute
