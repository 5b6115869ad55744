#include "support/temporary_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

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

// Removes the folder at its current path, and what is now at its first path.
void remove_open_folder(const std::string& path, int descriptor) {
  std::error_code error;
  const fs::path current = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
  remove_folder(path);
  if (!error && is_same_file(place_of_path(current.string()), place_of_descriptor(descriptor)))
    remove_folder(current.string());
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

TemporaryFolder::TemporaryFolder(std::string path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      removal_([folder = path_, open = descriptor_] { remove_open_folder(folder, open); }) {}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      removal_(std::move(other.removal_)) {}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) remove_open_folder(path_, descriptor_);
  removal_ = {};  // before another file gets the descriptor's number
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool TemporaryFolder::is_in_place() const {
  struct stat info{};
  return lstat(path_.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         is_same_file(place_of_path(path_), place_of_descriptor(descriptor_));
}

std::string TemporaryFolder::release() {
  removal_ = {};
  return std::exchange(path_, {});
}

}  // namespace depute
