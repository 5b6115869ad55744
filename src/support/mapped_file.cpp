#include "support/mapped_file.h"
#include "support/try.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace depute {
namespace {

// Files up to this size (bytes) are read ahead as a whole; of larger files, perhaps only parts are needed.
constexpr std::size_t max_populated_bytes = std::size_t{32} << 20;

constexpr std::size_t first_stream_bytes = std::size_t{1} << 20;
// A stream without end must not fill the memory. Programs in zip archives and flatbuffers may be larger.
constexpr std::size_t max_text_stream_bytes = std::size_t{64} << 20;

Failure system_error(const std::string& path) {
  return failure("open", path, std::strerror(errno));
}

Result<std::span<const std::byte>> map_file(int descriptor, std::size_t size, const std::string& path) {
  if (size == 0) return std::span<const std::byte>();
  int flags = MAP_PRIVATE | (size <= max_populated_bytes ? MAP_POPULATE : 0);
  void* address = mmap(nullptr, size, PROT_READ, flags, descriptor, 0);
  if (address == MAP_FAILED) return system_error(path);
  return std::span(static_cast<const std::byte*>(address), size);
}

// Buffer for a stream of unknown length; unmapped unless released.
class StreamMemory {
 public:
  StreamMemory() = default;
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory() {
    if (address_ != nullptr) munmap(address_, capacity_);
  }

  // Returns free space behind the first `used` bytes; empty if out of memory.
  std::span<std::byte> room(std::size_t used) {
    if (used == capacity_ && !resize(capacity_ == 0 ? first_stream_bytes : 2 * capacity_)) return {};
    return std::span(static_cast<std::byte*>(address_), capacity_).subspan(used);
  }

  std::span<const std::byte> start() const {
    return {static_cast<const std::byte*>(address_), std::min<std::size_t>(capacity_, 16)};
  }

  std::span<const std::byte> release(std::size_t used) {
    if (used == 0) return {};
    resize(used);  // on failure, the mapping is larger than necessary
    return {static_cast<const std::byte*>(std::exchange(address_, nullptr)), used};
  }

 private:
  bool resize(std::size_t capacity) {
    void* address = address_ == nullptr
                        ? mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                        : mremap(address_, capacity_, capacity, MREMAP_MAYMOVE);
    if (address == MAP_FAILED) return false;
    address_ = address;
    capacity_ = capacity;
    return true;
  }

  void* address_ = nullptr;
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

Result<std::span<const std::byte>> read_stream(int descriptor, const std::string& path) {
  StreamMemory memory;
  std::size_t used = 0;
  while (true) {
    std::span<std::byte> room = memory.room(used);
    if (room.empty()) return system_error(path);
    ssize_t count = ::read(descriptor, room.data(), room.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path);
    if (count == 0) return memory.release(used);
    used += static_cast<std::size_t>(count);
    if (used > max_text_stream_bytes && !starts_like_archive(memory.start())) return endless_text(path);
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
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return system_error(path);
  if (S_ISDIR(info.st_mode)) return failure("open", path, "is a directory, not a file");
  if (!S_ISREG(info.st_mode)) return failure("open", path, "not a regular file");
  return open_any(path);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open_any(const std::string& path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return system_error(path);
  return take(descriptor, path);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::standard_input() {
  int descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) return system_error("standard input");
  return take(descriptor, "standard input");
}

std::shared_ptr<const MappedFile> MappedFile::in_memory(std::span<const std::byte> bytes,
                                                        std::shared_ptr<const void> owner, std::string name) {
  std::shared_ptr<MappedFile> file(new MappedFile(std::move(name), -1, bytes));
  file->owner_ = std::move(owner);
  file->is_mapped_ = false;
  return file;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::take(int descriptor, const std::string& path) {
  std::shared_ptr<MappedFile> file(new MappedFile(path, descriptor, {}));
  struct stat info{};
  if (fstat(descriptor, &info) != 0) return system_error(path);
  if (S_ISDIR(info.st_mode)) return failure("open", path, "is a directory, not a file");
  if (S_ISREG(info.st_mode)) {
    file->place_ = place_of_descriptor(descriptor);
    TRY(file->bytes_, map_file(descriptor, static_cast<std::size_t>(info.st_size), path));
    const std::lock_guard held(mappings().mutex);
    if (!file->bytes_.empty()) mappings().files.emplace(file->bytes_.data(), file.get());
    return file;
  }
  TRY(file->bytes_, read_stream(descriptor, path));
  ::close(std::exchange(file->descriptor_, -1));
  return file;
}

bool MappedFile::has_changed() const {
  return descriptor_ >= 0 && depute::has_changed(place_, place_of_descriptor(descriptor_));
}

MappedFile::~MappedFile() {
  {
    const std::lock_guard held(mappings().mutex);
    const auto known = mappings().files.find(bytes_.data());
    if (known != mappings().files.end() && known->second == this) mappings().files.erase(known);
  }
  if (is_mapped_ && !bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace depute
