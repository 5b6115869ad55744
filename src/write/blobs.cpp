#include "write/blobs.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/hash.h"
#include "ir/content.h"
#include "support/check.h"
#include "support/parallel_for.h"
#include "support/try.h"

namespace depute {
namespace {

// Maximum bytes of one batch. One batch is produced and hashed while the previous one is written, so two
// batches are in memory. A larger piece forms a batch alone, and is produced in parts if possible.
constexpr std::uint64_t max_made_bytes = std::uint64_t{12} << 20;
constexpr std::size_t max_part_bytes = std::size_t{1} << 20;
constexpr std::uint64_t max_hashed_bytes = std::uint64_t{4} << 20;

// Pieces of at least this size are stored once even if some users need a stricter alignment.
constexpr std::uint64_t min_shared = 64;

// Identifies a range of a storage, or a number of zeros.
struct Identity {
  const Storage* storage = nullptr;  // null: zeros
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};

struct IdentityHash {
  std::size_t operator()(const Identity& identity) const {
    std::uint64_t numbers[] = {reinterpret_cast<std::uintptr_t>(identity.storage), identity.offset,
                               identity.size};
    return hash128(std::as_bytes(std::span(numbers))).low;
  }
};

Identity identity_of(const Blob& blob) {
  if (blob.storage->is_zeros()) return {nullptr, 0, blob.size};
  return {blob.storage.get(), blob.offset, blob.size};
}

// A distinct range of bytes among the blobs.
struct Piece {
  const Blob* blob = nullptr;   // the first blob with these bytes
  std::uint64_t alignment = 1;  // the strictest of all its blobs
  bool is_compared = false;     // another piece may be equal
  std::uint64_t position = 0;
  std::vector<std::byte> made;
  Hash128 hash;
};

class BlobWriter {
 public:
  BlobWriter(Output& file, std::span<const Blob> blobs, int jobs)
      : file_(file), blobs_(blobs), jobs_(jobs), positions_(blobs.size()) {}

  Result<std::vector<std::uint64_t>> run() {
    find_pieces();
    Batch ready = next_batch(0);
    parallel_for(ready.end, jobs_, [&](std::size_t i) { prepare(pieces_[i]); });
    while (ready.begin < ready.end) {
      const Batch next = next_batch(ready.end);
      Status placed;
      parallel_for(1 + next.end - next.begin, jobs_, [&](std::size_t i) {
        if (i == 0) {
          placed = place(ready);
        } else {
          prepare(pieces_[next.begin + i - 1]);
        }
      });
      TRY_STATUS(placed);
      ready = next;
    }
    for (std::size_t i = 0; i < blobs_.size(); ++i) {
      if (blobs_[i].size > 0) positions_[i] = pieces_[piece_of_[i]].position;
    }
    return std::move(positions_);
  }

 private:
  // Pieces in [begin, end).
  struct Batch {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void find_pieces() {
    std::unordered_map<Identity, std::uint32_t, IdentityHash> known;
    piece_of_.resize(blobs_.size());
    for (std::size_t i = 0; i < blobs_.size(); ++i) {
      if (blobs_[i].size == 0) continue;
      auto [entry, is_new] =
          known.try_emplace(identity_of(blobs_[i]), static_cast<std::uint32_t>(pieces_.size()));
      if (is_new) pieces_.emplace_back().blob = &blobs_[i];
      piece_of_[i] = entry->second;
      Piece& piece = pieces_[entry->second];
      piece.alignment = std::max(piece.alignment, blobs_[i].alignment);
    }
    mark_compared();
    align_alike();
  }

  // Marks pieces that may equal another one: same size and same bytes at both ends. The ends of lazy bytes
  // are unknown, so all pieces of such a size are marked.
  void mark_compared() {
    std::unordered_set<std::uint64_t> made_sizes;
    for (const Piece& piece : pieces_) {
      if (is_made(piece)) made_sizes.insert(piece.blob->size);
    }
    std::vector<Hash128> looks(pieces_.size());
    std::unordered_map<Hash128, std::uint32_t> count;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].blob->storage->is_zeros()) continue;
      looks[i] = look_of(pieces_[i], !made_sizes.contains(pieces_[i].blob->size));
      ++count[looks[i]];
    }
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      pieces_[i].is_compared = !pieces_[i].blob->storage->is_zeros() && count[looks[i]] > 1;
    }
  }

  static Hash128 look_of(const Piece& piece, bool with_ends) {
    struct {
      std::uint64_t size = 0;
      std::array<std::byte, 32> first = {};
      std::array<std::byte, 32> last = {};
    } look{.size = piece.blob->size};
    if (with_ends) {
      const auto bytes = bytes_of(piece);
      const std::size_t count = std::min(bytes.size(), look.first.size());
      std::ranges::copy(bytes.first(count), look.first.begin());
      std::ranges::copy(bytes.last(count), look.last.begin());
    }
    return hash128(std::as_bytes(std::span(&look, 1)));
  }

  // Gives pieces that may be equal the same alignment, so that one copy serves all. Small pieces are exempt:
  // storing them twice takes less room than padding.
  void align_alike() {
    std::unordered_map<std::uint64_t, std::uint64_t> strictest;  // by size
    for (const Piece& piece : pieces_) {
      if (!piece.is_compared || piece.blob->size < min_shared) continue;
      std::uint64_t& alignment = strictest[piece.blob->size];
      alignment = std::max(alignment, piece.alignment);
    }
    for (Piece& piece : pieces_) {
      if (piece.is_compared) piece.alignment = std::max(piece.alignment, strictest[piece.blob->size]);
    }
  }

  static bool is_made(const Piece& piece) {
    const Storage& storage = *piece.blob->storage;
    return storage.is_lazy() && !storage.is_zeros();
  }

  // Returns as many pieces as may be in memory at once.
  Batch next_batch(std::size_t begin) const {
    std::uint64_t made = 0;
    std::uint64_t hashed = 0;
    std::size_t end = begin;
    for (; end < pieces_.size(); ++end) {
      const Piece& piece = pieces_[end];
      made += is_made(piece) && !is_streamed(piece) ? piece.blob->storage->size() : 0;
      hashed += piece.is_compared ? piece.blob->size : 0;
      if (end > begin && (made > max_made_bytes || hashed > max_hashed_bytes)) break;
    }
    return {begin, end};
  }

  // True for a large piece that is produced in parts while it is written, and is never in memory as a whole.
  static bool is_streamed(const Piece& piece) {
    const Blob& blob = *piece.blob;
    return is_made(piece) && !piece.is_compared && blob.storage->grain() != 0 && blob.size > max_made_bytes &&
           blob.offset == 0 && blob.size == blob.storage->size();
  }

  static void prepare(Piece& piece) {
    if (is_streamed(piece)) return;
    if (is_made(piece)) piece.made = piece.blob->storage->produce();
    if (piece.is_compared) piece.hash = hash128(bytes_of(piece));
  }

  // Assigning {} would keep the allocation.
  static void drop(Piece& piece) { piece.made = std::vector<std::byte>(); }

  static std::span<const std::byte> bytes_of(const Piece& piece) {
    const Blob& blob = *piece.blob;
    auto bytes = is_made(piece) ? std::span<const std::byte>(piece.made) : blob.storage->bytes();
    CHECK(blob.offset + blob.size <= bytes.size());
    return bytes.subspan(blob.offset, blob.size);
  }

  Status place(const Batch& batch) {
    for (std::size_t i = batch.begin; i < batch.end; ++i) TRY_STATUS(place(pieces_[i]));
    return {};
  }

  // Reuses the position of an equal piece, or writes the piece.
  Status place(Piece& piece) {
    if (!piece.is_compared) return write(piece);
    const auto copy = by_hash_.find_or_add(piece.hash, &piece, [&](const Piece* earlier) {
      return earlier->position % piece.alignment == 0 && has_same_bytes(*earlier, piece);
    });
    if (!copy) return write(piece);
    piece.position = (*copy)->position;
    drop(piece);
    return {};
  }

  // Makes the bytes of `written` again if they were dropped.
  static bool has_same_bytes(const Piece& written, const Piece& piece) {
    const Blob& blob = *written.blob;
    return with_bytes(*blob.storage, [&](std::span<const std::byte> bytes) {
      return are_equal(bytes.subspan(blob.offset, blob.size), bytes_of(piece));
    });
  }

  Status write(Piece& piece) {
    TRY_STATUS(file_.pad_to((file_.position() + piece.alignment - 1) / piece.alignment * piece.alignment));
    piece.position = file_.position();
    const Storage& storage = *piece.blob->storage;
    if (storage.is_zeros()) return file_.pad_to(file_.position() + piece.blob->size);
    if (storage.file() != nullptr) return file_.write_from(*storage.file(), bytes_of(piece));
    if (is_streamed(piece)) return stream(storage);
    TRY_STATUS(file_.write(bytes_of(piece)));
    drop(piece);
    return {};
  }

  Status stream(const Storage& storage) {
    const std::size_t grain = storage.grain();
    const std::size_t most = std::max<std::size_t>(max_part_bytes / grain, 1) * grain;
    for (std::size_t offset = 0; offset < storage.size(); offset += most)
      TRY_STATUS(file_.write(storage.produce(offset, std::min(most, storage.size() - offset))));
    return {};
  }

  Output& file_;
  std::span<const Blob> blobs_;
  int jobs_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> piece_of_;  // per blob
  std::vector<std::uint64_t> positions_;
  EqualItems<const Piece*> by_hash_;  // pieces that were written
};

}  // namespace

bool have_same_bytes(const Blob& a, const Blob& b) {
  if (a.size != b.size) return false;
  if (a.storage == b.storage && a.offset == b.offset) return true;
  return with_bytes(*a.storage, [&](std::span<const std::byte> bytes_of_a) {
    return with_bytes(*b.storage, [&](std::span<const std::byte> bytes_of_b) {
      return are_equal(bytes_of_a.subspan(a.offset, a.size), bytes_of_b.subspan(b.offset, b.size));
    });
  });
}

Result<std::vector<std::uint64_t>> write_blobs(Output& file, std::span<const Blob> blobs, int jobs) {
  return BlobWriter(file, blobs, jobs).run();
}

}  // namespace depute
