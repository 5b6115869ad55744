#include "support/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace depute {
namespace {

constexpr int max_attempts = 100;  // attempts to find an unused name

}  // namespace

TemporaryFile::TemporaryFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor), removal_([path = path_] { ::unlink(path.c_str()); }) {}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      removal_(std::move(other.removal_)) {}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

// Creates the file only under an unused name, since another or an earlier process may have the same id.
Result<TemporaryFile> TemporaryFile::create(const std::string& target, mode_t mode) {
  static std::atomic<unsigned> count = 0;
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
    std::string path = (folder / fmt::format(".depute-{}-{}.tmp", getpid(), count++)).string();
    const auto held = delay_signals();
    int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0) return TemporaryFile(std::move(path), descriptor);
    const int reason = errno;
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
  removal_ = {};
}

}  // namespace depute
