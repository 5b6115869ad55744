#include "support/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "support/names_to_remove.h"

namespace depute {
namespace {

constexpr int max_attempts = 100;  // attempts to find an unused name

NamesToRemove<64> file_names;

}  // namespace

void remove_temporary_files() {
  file_names.each([](const char* path) { ::unlink(path); });
}

TemporaryFile::TemporaryFile(std::string path, int descriptor, int slot)
    : path_(std::move(path)), descriptor_(descriptor), slot_(slot) {}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      slot_(std::exchange(other.slot_, -1)) {}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!path_.empty()) ::unlink(path_.c_str());
  file_names.remove(slot_);
}

// Creates the file only under an unused name, since another or an earlier process may have the same id. The
// name is registered before the file exists, so that a signal handler always finds it.
Result<TemporaryFile> TemporaryFile::create(const std::string& target, mode_t mode) {
  static std::atomic<unsigned> count = 0;
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
    std::string path = (folder / fmt::format(".depute-{}-{}.tmp", getpid(), count++)).string();
    const int slot = file_names.add(path);
    int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0) return TemporaryFile(std::move(path), descriptor, slot);
    const int reason = errno;
    file_names.remove(slot);
    if (reason != EEXIST) return failure("write", target, std::strerror(reason));
  }
  return failure("write", target, std::strerror(EEXIST));
}

Status TemporaryFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) return failure("write", path_, std::strerror(errno));
  return {};
}

void TemporaryFile::release() {
  path_.clear();
  file_names.remove(std::exchange(slot_, -1));
}

}  // namespace depute
