#include "support/temporary_file.h"

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <utility>

#include "platform/file_system.h"

namespace depute {
namespace {

constexpr int max_attempts = 100;  // attempts to find an unused name

}  // namespace

TemporaryFile::TemporaryFile(std::string path, platform::File file)
    : path_(std::move(path)),
      file_(std::move(file)),
      removal_([path = path_] { platform::remove_file(path); }) {}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      file_(std::move(other.file_)),
      removal_(std::move(other.removal_)) {}

TemporaryFile::~TemporaryFile() {
  file_ = {};
  if (!path_.empty()) platform::remove_file(path_);
}

// Creates the file only under an unused name, since another or an earlier process may have the same id.
Result<TemporaryFile> TemporaryFile::create(const std::string& target, std::uint32_t permissions) {
  static std::atomic<unsigned> count = 0;
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  std::error_code error;
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
    std::string path =
        (folder / fmt::format(".depute-{}-{}.tmp", platform::process_number(), count++)).string();
    const auto held = delay_signals();
    auto file = platform::File::create(path, permissions);
    if (file) return TemporaryFile(std::move(path), std::move(*file));
    error = file.error();
    if (error != std::errc::file_exists) break;
  }
  return failure("write", target, error.message());
}

Status TemporaryFile::close() {
  const std::error_code error = file_.close();
  return error ? Status(failure("write", path_, error.message())) : Status();
}

void TemporaryFile::release() {
  path_.clear();
  removal_ = {};
}

}  // namespace depute
