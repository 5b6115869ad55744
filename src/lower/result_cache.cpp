#include "lower/result_cache.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "depute/api.h"
#include "depute/program/program.h"
#include "lower/result_json.h"
#include "support/guarded.h"
#include "support/hasher.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/try.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view entry_magic = "DEPUTER2";
constexpr std::string_view entry_suffix = ".result";
constexpr std::size_t entry_header = 64;
constexpr std::size_t blob_alignment = 64;

struct EntryHeader {
  std::uint64_t offset = 0;  // position of the description in the file, in bytes
  std::uint64_t size = 0;
  Hash128 hash;
};

// Hash of the compiler's binary: another build of the same version may give other results.
Hash128 hash_of_compiler() {
  Hasher hasher;
  for (std::uint64_t number : {DEPUTE_VERSION_MAJOR, DEPUTE_VERSION_MINOR, DEPUTE_VERSION_PATCH})
    hasher.add(number);
  Dl_info self{};
  std::vector<std::string> files = {"/proc/self/exe"};
  if (dladdr(reinterpret_cast<const void*>(&hash_of_compiler), &self) != 0 && self.dli_fname != nullptr)
    files.emplace_back(self.dli_fname);
  for (const std::string& path : files) {
    auto file = MappedFile::open(path);
    if (file) hasher.add((*file)->bytes());
  }
  return hasher.finish();
}

void add_digest(Sha256& hasher, const Digest& digest) {
  hasher.update(std::as_bytes(std::span(digest.bytes)));
}

// Writes blobs and returns their positions.
class EntryWriter {
 public:
  explicit EntryWriter(OutputFile& out) : out_(out) {}

  Result<StoredBytes> blob(const Storage& storage) {
    const std::uint64_t offset = (out_.position() + blob_alignment - 1) / blob_alignment * blob_alignment;
    TRY_STATUS(out_.skip_to(offset));
    return with_bytes(storage, [&](std::span<const std::byte> bytes) -> Result<StoredBytes> {
      TRY_STATUS(out_.write(bytes));
      return StoredBytes{.at = offset, .size = bytes.size(), .hash = hash128(bytes).hex()};
    });
  }

 private:
  OutputFile& out_;
};

class EntryReader {
 public:
  EntryReader(std::shared_ptr<const MappedFile> file, const Program& partition)
      : file_(std::move(file)), bytes_(file_->bytes()), partition_(partition) {}

  Result<PreprocessResult> run() {
    TRY(const JsonDocument json, description());
    return result_of_json(Json(json), partition_, [&](const StoredBytes& place) { return blob(place); });
  }

 private:
  static Failure damaged(std::string_view what) { return failure("cache", "", what); }

  Result<std::span<const std::byte>> part(std::uint64_t offset, std::uint64_t size,
                                          const Hash128& hash) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return damaged("it is truncated");
    auto bytes = bytes_.subspan(offset, size);
    if (hash128(bytes) != hash) return damaged("a checksum differs");
    return bytes;
  }

  Result<JsonDocument> description() const {
    if (bytes_.size() < entry_header) return damaged("it is truncated");
    if (std::memcmp(bytes_.data(), entry_magic.data(), entry_magic.size()) != 0)
      return damaged("it is not a cache entry");
    EntryHeader header;
    std::memcpy(&header, bytes_.data() + entry_magic.size(), sizeof header);
    TRY(auto text, part(header.offset, header.size, header.hash));
    return JsonDocument::parse({.bytes = text}, "", ReadLimits());
  }

  Result<std::shared_ptr<const Storage>> blob(const StoredBytes& place) const {
    const auto hash = hash128_from_hex(place.hash);
    if (!hash) return damaged("a checksum is invalid");
    TRY(auto bytes, part(place.at.value_or(0), place.size.value_or(0), *hash));
    return Storage::mapped(file_, bytes);
  }

  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> bytes_;
  const Program& partition_;
};

}  // namespace

Result<ResultCache> ResultCache::open(const CacheOptions& options) {
  if (options.folder.empty()) return ResultCache(options, {});
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (!fs::is_directory(options.folder))
    return failure("cache", options.folder, error ? error.message() : "is not a folder");
  return ResultCache(options, hash_of_compiler());
}

std::string ResultCache::path_of(const Digest& key) const {
  return fs::path(options_.folder) / (key.hex() + std::string(entry_suffix));
}

void ResultCache::note(std::string text) {
  if (std::ranges::find(use_.notes, text) == use_.notes.end()) use_.notes.push_back(std::move(text));
}

std::optional<Digest> ResultCache::key_of(const Backend& backend, const Partition& partition) const {
  const std::string version = backend.cache_version();
  if (!is_open() || version.empty() || !partition.program->delegates.empty()) return std::nullopt;
  Sha256 hasher;
  hasher.add(entry_magic);
  hasher.add(compiler_.low);
  hasher.add(compiler_.high);
  hasher.add(backend.id());
  hasher.add(std::string_view(version));
  hasher.add(partition.compile_specs.size());
  for (const CompileSpec& spec : partition.compile_specs) {
    hasher.add(std::string_view(spec.key));
    hasher.add(std::span<const std::byte>(spec.value));
  }
  add_digest(hasher, structural_digest(*partition.program));
  for (const auto& [key, data] : partition.program->data) add_digest(hasher, content_digest(data));
  return hasher.finish();
}

Result<PreprocessResult> ResultCache::read(const std::string& path, const Program& partition) const {
  return guarded([&]() -> Result<PreprocessResult> {
    TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
    return EntryReader(std::move(file), partition).run();
  });
}

std::optional<PreprocessResult> ResultCache::find(const Digest& key, const Program& partition) {
  const std::string path = path_of(key);
  std::error_code error;
  if (!fs::exists(path, error)) {
    ++use_.made;
    return std::nullopt;
  }
  Result<PreprocessResult> result = read(path, partition);
  if (!result) {
    ++use_.made;
    if (!fs::exists(path, error)) return std::nullopt;  // another process removed it
    note(fmt::format("the cache entry {} is unusable ({}) and will be recreated", path,
                     result.error().message));
    return std::nullopt;
  }
  ++use_.found;
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // marks it as used now
  return std::move(*result);
}

Status ResultCache::write(const std::string& path, const Program& partition,
                          const PreprocessResult& result) const {
  return guarded([&]() -> Status {
    TRY(OutputFile out, OutputFile::create(path));
    EntryWriter writer(out);
    TRY_STATUS(out.skip_to(entry_header));
    TRY(const JsonValue json,
        json_of_result(result, partition, [&](const Storage& storage) { return writer.blob(storage); }));
    const std::string text = json.dump();
    const auto description = std::as_bytes(std::span(text));
    EntryHeader header{out.position(), description.size(), hash128(description)};
    TRY_STATUS(out.write(description));
    std::array<std::byte, entry_header> start{};
    std::memcpy(start.data(), entry_magic.data(), entry_magic.size());
    std::memcpy(start.data() + entry_magic.size(), &header, sizeof header);
    TRY_STATUS(out.write_at(0, start));
    if (out.position() > options_.max_bytes)
      return failure("cache", path,
                     fmt::format("a result of {} bytes exceeds the cache size", out.position()));
    return out.commit();
  });
}

void ResultCache::keep(const Digest& key, const Program& partition, const PreprocessResult& result) {
  Status written = write(path_of(key), partition, result);
  if (!written) {
    note(fmt::format("cannot store a result in {}: {}", options_.folder, written.error().message));
    return;
  }
  make_room();
}

// Other processes may remove the same entries at the same time.
void ResultCache::make_room() {
  struct Entry {
    fs::file_time_type used;
    std::uint64_t size;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(options_.folder, error)) {
    if (file.path().extension() != entry_suffix) continue;
    std::error_code gone;
    const auto used = file.last_write_time(gone);
    const std::uint64_t size = gone ? 0 : file.file_size(gone);
    if (gone) continue;
    entries.push_back({used, size, file.path()});
    total += size;
  }
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::tie(entry.used, entry.path); });
  for (const Entry& entry : entries) {
    if (total <= options_.max_bytes) return;
    fs::remove(entry.path, error);
    total -= entry.size;
  }
}

}  // namespace depute
