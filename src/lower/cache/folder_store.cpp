#include "lower/cache/folder_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <vector>

#include "platform/file_system.h"
#include "support/output_file.h"
#include "support/try.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

class FolderStore : public ResultStore {
 public:
  FolderStore(std::string folder, std::uint64_t max_bytes)
      : ResultStore(std::move(folder)), max_bytes_(max_bytes) {}

  Result<std::shared_ptr<const MappedFile>> find(const std::string& name) override {
    const std::string path = place_of(name);
    auto file = MappedFile::open(path);
    std::error_code error;
    if (!file && !fs::exists(path, error)) return nullptr;
    platform::mark_as_used(path);
    return file;
  }

  Status keep(const std::string& name, const std::function<Status(Output&)>& write) override {
    TRY(OutputFile out, OutputFile::create(place_of(name)));
    TRY_STATUS(write(out));
    if (out.position() > max_bytes_)
      return failure("cache", place_of(name),
                     fmt::format("a result of {} bytes exceeds the cache size", out.position()));
    TRY_STATUS(out.commit());
    make_room(fs::path(name).extension());
    return {};
  }

 private:
  // Other processes may remove the same entries at the same time.
  void make_room(const fs::path& suffix) {
    struct Entry {
      fs::file_time_type used;
      std::uint64_t size;
      fs::path path;
    };
    std::vector<Entry> entries;
    std::uint64_t total = 0;
    std::error_code error;
    for (const auto& file : fs::directory_iterator(place(), error)) {
      if (file.path().extension() != suffix) continue;
      std::error_code gone;
      const auto used = file.last_write_time(gone);
      const std::uint64_t size = gone ? 0 : file.file_size(gone);
      if (gone) continue;
      entries.push_back({used, size, file.path()});
      total += size;
    }
    std::ranges::sort(entries, {}, [](const Entry& entry) { return std::tie(entry.used, entry.path); });
    for (const Entry& entry : entries) {
      if (total <= max_bytes_) return;
      fs::remove(entry.path, error);
      total -= entry.size;
    }
  }

  std::uint64_t max_bytes_;
};

}  // namespace

Result<std::unique_ptr<ResultStore>> open_folder_store(const std::string& folder, std::uint64_t max_bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder)) return failure("cache", folder, error ? error.message() : "is not a folder");
  return std::make_unique<FolderStore>(folder, max_bytes);
}

}  // namespace depute
