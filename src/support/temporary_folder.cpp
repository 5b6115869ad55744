#include "support/temporary_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "support/names_to_remove.h"
#include "support/other_threads.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_names = 256;
NamesToRemove<max_names> folder_names;

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
  const Uninterrupted making;
  if (mkdtemp(path.data()) == nullptr) return failure("write", path, std::strerror(errno));
  const int slot = folder_names.add(path);
  return TemporaryFolder(std::move(path), slot);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), slot_(std::exchange(other.slot_, -1)) {}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) remove_folder(path_);
  folder_names.remove(slot_);
}

std::string TemporaryFolder::release() {
  folder_names.remove(std::exchange(slot_, -1));
  return std::exchange(path_, {});
}

// Runs rm, because a signal handler may start a program, but not walk a folder.
void remove_temporary_folders() {
  static char rm[] = "/bin/rm";
  static char options[] = "-rf";
  static char end_of_options[] = "--";
  std::array<char*, 3 + max_names + 1> words = {rm, options, end_of_options};
  std::size_t count = 3;
  folder_names.each([&](char* path) { words[count++] = path; });
  if (count == 3) return;
  const pid_t child = _Fork();
  if (child == 0) {
    execv(rm, words.data());
    _exit(1);
  }
  if (child > 0) waitpid(child, nullptr, 0);
}

}  // namespace depute
