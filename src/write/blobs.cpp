#include "write/blobs.h"

#include <algorithm>
#include <unordered_map>

#include "support/check.h"
#include "support/hash.h"
#include "support/parallel_for.h"

namespace depute {
namespace {

// Bytes made on demand that are in memory at one time (a larger piece comes alone), and bytes hashed in one
// go.
constexpr std::uint64_t max_made_bytes = std::uint64_t{24} << 20;
constexpr std::uint64_t max_hashed_bytes = std::uint64_t{256} << 20;

// Pieces from this size on are stored once even when some users want them aligned more strictly.
constexpr std::uint64_t least_shared = 64;

// A place in a storage, or a number of zeros.
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

// One of the different places among the blobs.
struct Piece {
  const Blob* blob = nullptr;   // the first one
  std::uint64_t alignment = 1;  // the strictest of all
  bool is_compared = false;     // another piece has the same size
  bool is_placed = false;
  std::uint64_t position = 0;
  std::vector<std::byte> made;
  Hash128 hash;
};

class BlobWriter {
 public:
  BlobWriter(OutputFile& file, std::span<const Blob> blobs, int jobs)
      : file_(file), blobs_(blobs), jobs_(jobs), positions_(blobs.size()) {}

  Result<std::vector<std::uint64_t>> run() {
    find_pieces();
    std::size_t prepared = 0;  // pieces before it are made and hashed
    for (std::size_t i = 0; i < blobs_.size(); ++i) {
      if (blobs_[i].size == 0) continue;
      if (piece_of_[i] >= prepared) prepared = prepare(prepared);
      Piece& piece = pieces_[piece_of_[i]];
      if (!piece.is_placed) TRY_STATUS(place(piece));
      positions_[i] = piece.position;
    }
    return std::move(positions_);
  }

 private:
  void find_pieces() {
    std::unordered_map<Identity, std::uint32_t, IdentityHash> known;
    std::unordered_map<std::uint64_t, std::uint32_t> of_size;  // pieces
    piece_of_.resize(blobs_.size());
    for (std::size_t i = 0; i < blobs_.size(); ++i) {
      if (blobs_[i].size == 0) continue;
      auto [entry, is_new] =
          known.try_emplace(identity_of(blobs_[i]), static_cast<std::uint32_t>(pieces_.size()));
      if (is_new) {
        pieces_.emplace_back().blob = &blobs_[i];
        ++of_size[blobs_[i].size];
      }
      piece_of_[i] = entry->second;
      Piece& piece = pieces_[entry->second];
      piece.alignment = std::max(piece.alignment, blobs_[i].alignment);
    }
    for (Piece& piece : pieces_) {
      piece.is_compared = of_size[piece.blob->size] > 1 && !piece.blob->storage->is_zeros();
    }
    align_alike();
  }

  // Pieces that may turn out to be equal are aligned alike, so that the first one serves all of them. Small
  // ones take less room twice than the padding would.
  void align_alike() {
    std::unordered_map<std::uint64_t, std::uint64_t> strictest;  // by size
    for (const Piece& piece : pieces_) {
      if (!piece.is_compared || piece.blob->size < least_shared) continue;
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

  // Makes and hashes pieces from `first` on, as many as may be in memory; returns the next one to do.
  std::size_t prepare(std::size_t first) {
    std::uint64_t made = 0;
    std::uint64_t hashed = 0;
    std::size_t end = first;
    for (; end < pieces_.size(); ++end) {
      const Piece& piece = pieces_[end];
      made += is_made(piece) ? piece.blob->storage->size() : 0;
      hashed += piece.is_compared ? piece.blob->size : 0;
      if (end > first && (made > max_made_bytes || hashed > max_hashed_bytes)) break;
    }
    parallel_for(end - first, jobs_, [&](std::size_t i) { prepare(pieces_[first + i]); });
    return end;
  }

  static void prepare(Piece& piece) {
    if (is_made(piece)) piece.made = piece.blob->storage->produce();
    if (piece.is_compared) piece.hash = hash128(bytes_of(piece));
  }

  static std::span<const std::byte> bytes_of(const Piece& piece) {
    const Blob& blob = *piece.blob;
    auto bytes = is_made(piece) ? std::span<const std::byte>(piece.made) : blob.storage->bytes();
    CHECK(blob.offset + blob.size <= bytes.size());
    return bytes.subspan(blob.offset, blob.size);
  }

  // Shares the bytes of an equal piece before it, or writes its own.
  Status place(Piece& piece) {
    piece.is_placed = true;
    if (piece.is_compared) {
      std::uint64_t& copy = by_content_[piece.hash];
      if (copy != 0 && copy % piece.alignment == 0) {
        piece.position = copy;
        piece.made = {};
        return {};
      }
      TRY_STATUS(write(piece));
      copy = piece.position;
      return {};
    }
    return write(piece);
  }

  Status write(Piece& piece) {
    TRY_STATUS(file_.pad_to((file_.position() + piece.alignment - 1) / piece.alignment * piece.alignment));
    piece.position = file_.position();
    const Storage& storage = *piece.blob->storage;
    if (storage.is_zeros()) return file_.pad_to(file_.position() + piece.blob->size);
    if (storage.file() != nullptr) return file_.write_from(*storage.file(), bytes_of(piece));
    TRY_STATUS(file_.write(bytes_of(piece)));
    piece.made = {};
    return {};
  }

  OutputFile& file_;
  std::span<const Blob> blobs_;
  int jobs_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> piece_of_;  // per blob
  std::vector<std::uint64_t> positions_;
  std::unordered_map<Hash128, std::uint64_t> by_content_;  // position; 0: not written yet
};

}  // namespace

Result<std::vector<std::uint64_t>> write_blobs(OutputFile& file, std::span<const Blob> blobs, int jobs) {
  return BlobWriter(file, blobs, jobs).run();
}

}  // namespace depute
