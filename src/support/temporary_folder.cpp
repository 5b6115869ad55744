#include "support/temporary_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace depute {
namespace {

namespace fs = std::filesystem;

// What a signal handler may read: no lock, nothing that grows.
std::array<std::atomic<char*>, 256> folder_names;

int remember_folder(const std::string& path) {
  char* name = strdup(path.c_str());
  for (std::size_t i = 0; i < folder_names.size() && name != nullptr; ++i) {
    char* empty = nullptr;
    if (folder_names[i].compare_exchange_strong(empty, name)) return static_cast<int>(i);
  }
  std::free(name);
  return -1;
}

void forget_folder(int slot) {
  if (slot >= 0) std::free(folder_names[static_cast<std::size_t>(slot)].exchange(nullptr));
}

// A folder that may not be written or entered keeps what is in it.
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
  if (mkdtemp(path.data()) == nullptr) return failure("write", path, std::strerror(errno));
  const int slot = remember_folder(path);
  return TemporaryFolder(std::move(path), slot);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), slot_(std::exchange(other.slot_, -1)) {}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) remove_folder(path_);
  forget_folder(slot_);
}

std::string TemporaryFolder::release() {
  forget_folder(std::exchange(slot_, -1));
  return std::exchange(path_, {});
}

// To walk a folder is nothing that a signal handler may do; to run a program is.
void remove_temporary_folders() {
  static char rm[] = "/bin/rm";
  static char options[] = "-rf";
  static char end_of_options[] = "--";
  std::array<char*, 3 + folder_names.size() + 1> words = {rm, options, end_of_options};
  std::size_t count = 3;
  for (std::atomic<char*>& name : folder_names) {
    if (char* path = name.load(); path != nullptr) words[count++] = path;
  }
  if (count == 3) return;
  const pid_t child = _Fork();
  if (child == 0) {
    execv(rm, words.data());
    _exit(1);
  }
  if (child > 0) waitpid(child, nullptr, 0);
}

}  // namespace depute
