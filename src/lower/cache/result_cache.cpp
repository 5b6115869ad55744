#include "lower/cache/result_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "depute/api.h"
#include "depute/program/program.h"
#include "lower/result_json.h"
#include "platform/programs.h"
#include "support/guarded.h"
#include "support/hasher.h"
#include "support/mapped_file.h"
#include "support/output.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view entry_magic = "DEPUTER3";
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
  const std::string library = platform::file_of_code(reinterpret_cast<const void*>(&hash_of_compiler));
  for (const std::string& path : {platform::own_program(), library}) {
    auto file = MappedFile::open(path);
    if (file) hasher.add((*file)->bytes());
  }
  return hasher.finish();
}

void add_digest(Sha256& hasher, const Digest& digest) {
  hasher.update(std::as_bytes(std::span(digest.bytes)));
}

// Includes the key: a server may mix up entries.
Hash128 description_hash(const Digest& key, std::span<const std::byte> description) {
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(key.bytes)));
  hasher.add(description);
  return hasher.finish();
}

// Writes blobs and returns their positions.
class EntryWriter {
 public:
  explicit EntryWriter(Output& out) : out_(out) {}

  Result<StoredBytes> blob(const Storage& storage) {
    const std::uint64_t offset = (out_.position() + blob_alignment - 1) / blob_alignment * blob_alignment;
    TRY_STATUS(out_.skip_to(offset));
    return with_bytes(storage, [&](std::span<const std::byte> bytes) -> Result<StoredBytes> {
      TRY_STATUS(out_.write(bytes));
      return StoredBytes{.at = offset, .size = bytes.size(), .hash = hash128(bytes).hex()};
    });
  }

 private:
  Output& out_;
};

class EntryReader {
 public:
  EntryReader(std::shared_ptr<const MappedFile> file, const Digest& key, const Program& partition)
      : file_(std::move(file)), bytes_(file_->bytes()), key_(key), partition_(partition) {}

  Result<PreprocessResult> run() {
    TRY(const JsonDocument json, description());
    return result_of_json(Json(json), partition_, [&](const StoredBytes& place) { return blob(place); });
  }

 private:
  static Failure damaged(std::string_view what) { return failure("cache", "", what); }

  Result<std::span<const std::byte>> part(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return damaged("it is truncated");
    return bytes_.subspan(offset, size);
  }

  Result<JsonDocument> description() const {
    if (bytes_.size() < entry_header) return damaged("it is truncated");
    if (std::memcmp(bytes_.data(), entry_magic.data(), entry_magic.size()) != 0)
      return damaged("it is not a cache entry");
    EntryHeader header;
    std::memcpy(&header, bytes_.data() + entry_magic.size(), sizeof header);
    TRY(auto text, part(header.offset, header.size));
    if (description_hash(key_, text) != header.hash) return damaged("a checksum differs");
    return JsonDocument::parse({.bytes = text}, "", ReadLimits());
  }

  Result<std::shared_ptr<const Storage>> blob(const StoredBytes& place) const {
    const auto hash = hash128_from_hex(place.hash);
    if (!hash) return damaged("a checksum is invalid");
    TRY(auto bytes, part(place.at.value_or(0), place.size.value_or(0)));
    if (hash128(bytes) != *hash) return damaged("a checksum differs");
    return Storage::mapped(file_, bytes);
  }

  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> bytes_;
  Digest key_;
  const Program& partition_;
};

Status write_entry(Output& out, const Digest& key, const Program& partition, const PreprocessResult& result) {
  EntryWriter writer(out);
  TRY_STATUS(out.skip_to(entry_header));
  TRY(const JsonValue json,
      json_of_result(result, partition, [&](const Storage& storage) { return writer.blob(storage); }));
  const std::string text = json.dump();
  const auto description = std::as_bytes(std::span(text));
  EntryHeader header{out.position(), description.size(), description_hash(key, description)};
  TRY_STATUS(out.write(description));
  std::array<std::byte, entry_header> start{};
  std::memcpy(start.data(), entry_magic.data(), entry_magic.size());
  std::memcpy(start.data() + entry_magic.size(), &header, sizeof header);
  return out.write_at(0, start);
}

std::string name_of(const Digest& key) {
  return key.hex() + std::string(entry_suffix);
}

}  // namespace

Result<ResultCache> ResultCache::open(const CacheOptions& options) {
  if (options.store.empty()) return ResultCache();
  TRY(std::unique_ptr<ResultStore> store, open_store(options));
  return ResultCache(std::move(store), hash_of_compiler());
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

std::optional<PreprocessResult> ResultCache::find(const Digest& key, const Program& partition) {
  const std::string name = name_of(key);
  auto file = guarded([&] { return store_->find(name); });
  if (!file) note(fmt::format("cannot read results from {}: {}", store_->place(), file.error().message));
  if (!file || *file == nullptr) {
    ++use_.made;
    return std::nullopt;
  }
  auto result = guarded([&] { return EntryReader(std::move(*file), key, partition).run(); });
  if (!result) {
    ++use_.made;
    note(fmt::format("the cache entry {} is unusable ({}) and will be recreated", store_->place_of(name),
                     result.error().message));
    return std::nullopt;
  }
  ++use_.found;
  return std::move(*result);
}

void ResultCache::keep(const Digest& key, const Program& partition, const PreprocessResult& result) {
  const Status written = guarded([&] {
    return store_->keep(name_of(key), [&](Output& out) { return write_entry(out, key, partition, result); });
  });
  if (!written)
    note(fmt::format("cannot store a result in {}: {}", store_->place(), written.error().message));
}

}  // namespace depute
