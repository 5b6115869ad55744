#include "support/mapped_file.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "platform/file_system.h"
#include "platform/mapping.h"
#include "support/file_place.h"

namespace depute {
namespace {

// Files up to this size (bytes) are read ahead as a whole; of larger files, perhaps only parts are needed.
constexpr std::size_t max_populated_bytes = std::size_t{32} << 20;

constexpr std::size_t first_stream_bytes = std::size_t{1} << 20;
// A stream without end must not fill the memory. Programs in zip archives and flatbuffers may be larger.
constexpr std::size_t max_text_stream_bytes = std::size_t{64} << 20;

Failure system_error(const std::string& path, std::error_code error) {
  return failure("open", path, error.message());
}

// Buffer for a stream of unknown length.
class StreamMemory {
 public:
  StreamMemory() = default;
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory() { std::free(bytes_); }

  // Returns free space behind the first `used` bytes; empty if out of memory.
  std::span<std::byte> room(std::size_t used) {
    if (used == capacity_ && !resize(capacity_ == 0 ? first_stream_bytes : 2 * capacity_)) return {};
    return std::span(bytes_, capacity_).subspan(used);
  }

  std::span<const std::byte> start() const { return {bytes_, std::min<std::size_t>(capacity_, 16)}; }

  std::shared_ptr<const std::byte> release(std::size_t used) {
    if (used > 0) resize(used);  // on failure, the memory is larger than necessary
    return {std::exchange(bytes_, nullptr), [](std::byte* bytes) { std::free(bytes); }};
  }

 private:
  bool resize(std::size_t capacity) {
    auto* bytes = static_cast<std::byte*>(std::realloc(bytes_, capacity));
    if (bytes == nullptr) return false;
    bytes_ = bytes;
    capacity_ = capacity;
    return true;
  }

  std::byte* bytes_ = nullptr;
  std::size_t capacity_ = 0;
};

// True for the start of a zip archive, or of a flatbuffer: the offset of its table, then an identifier like "ET12".
bool starts_like_archive(std::span<const std::byte> bytes) {
  if (bytes.size() < 8) return false;
  if (bytes[0] == std::byte{'P'} && bytes[1] == std::byte{'K'}) return true;
  const auto is_alphanumeric = [](std::byte byte) { return std::isalnum(std::to_integer<int>(byte)) != 0; };
  return bytes[3] == std::byte{0} && std::ranges::all_of(bytes.subspan(4, 4), is_alphanumeric);
}

Failure endless_text(const std::string& path) {
  return failure("read", path,
                 fmt::format("a stream of more than {} MiB that is no archive", max_text_stream_bytes >> 20),
                 "a larger text can be read from a file");
}

// Returns a file in memory.
Result<std::shared_ptr<const MappedFile>> read_stream(const platform::File& file, const std::string& path) {
  StreamMemory memory;
  std::size_t used = 0;
  while (true) {
    const std::span<std::byte> room = memory.room(used);
    if (room.empty()) return system_error(path, std::make_error_code(std::errc::not_enough_memory));
    const auto count = file.read(room);
    if (!count) return system_error(path, count.error());
    used += *count;
    if (used > max_text_stream_bytes && !starts_like_archive(memory.start())) return endless_text(path);
    if (*count > 0) continue;
    const std::shared_ptr<const std::byte> bytes = memory.release(used);
    return MappedFile::in_memory({bytes.get(), used}, bytes, path);
  }
}

}  // namespace

Failure input_changed(const std::string& path) {
  return failure("open", path, "the file changed while it was read", "run again when nothing writes to it");
}

// Paths of the files that are mapped now, by their first address.
struct MappedFile::Mappings {
  std::mutex mutex;
  std::map<const void*, const MappedFile*> files;
};

// Never destroyed: a file may shrink while the process ends.
MappedFile::Mappings& MappedFile::mappings() {
  static auto* all = new Mappings;
  return *all;
}

std::string MappedFile::path_at(const void* address) {
  Mappings& all = mappings();
  const std::lock_guard held(all.mutex);
  const auto next = all.files.upper_bound(address);
  if (next == all.files.begin()) return {};
  const MappedFile& file = *std::prev(next)->second;
  const bool is_inside = static_cast<const std::byte*>(address) < file.bytes_.data() + file.bytes_.size();
  return is_inside ? file.path_ : std::string();
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const auto info = platform::info_of(path);
  if (!info) return system_error(path, info.error());
  if (info->is_folder()) return failure("open", path, "is a directory, not a file");
  if (!info->is_regular()) return failure("open", path, "not a regular file");
  return open_any(path);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open_any(const std::string& path) {
  auto file = platform::File::open(path);
  if (!file) return system_error(path, file.error());
  return take(std::move(*file), path);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::standard_input() {
  const std::string name = "standard input";
  auto file = platform::File::of_stream(0);
  if (!file) return system_error(name, file.error());
  return take(std::move(*file), name);
}

std::shared_ptr<const MappedFile> MappedFile::in_memory(std::span<const std::byte> bytes,
                                                        std::shared_ptr<const void> owner, std::string name) {
  std::shared_ptr<MappedFile> file(new MappedFile(std::move(name), {}, bytes));
  file->owner_ = std::move(owner);
  return file;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::take(platform::File open, const std::string& path) {
  const auto info = open.info();
  if (!info) return system_error(path, info.error());
  if (info->is_folder()) return failure("open", path, "is a directory, not a file");
  if (!info->is_regular()) return read_stream(open, path);
  std::shared_ptr<MappedFile> file(new MappedFile(path, std::move(open), {}));
  file->info_ = *info;
  if (info->size == 0) return file;
  const auto size = static_cast<std::size_t>(info->size);
  const auto bytes = platform::map_file(file->file_, size, size <= max_populated_bytes);
  if (!bytes) return system_error(path, bytes.error());
  file->bytes_ = *bytes;
  const std::lock_guard held(mappings().mutex);
  mappings().files.emplace(file->bytes_.data(), file.get());
  return file;
}

bool MappedFile::has_changed() const {
  return file_.is_open() && depute::has_changed(info_, file_.info().value_or(platform::FileInfo()));
}

MappedFile::~MappedFile() {
  if (!file_.is_open() || bytes_.empty()) return;
  {
    const std::lock_guard held(mappings().mutex);
    mappings().files.erase(bytes_.data());
  }
  platform::unmap(bytes_);
}

}  // namespace depute
