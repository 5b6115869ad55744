// Constant data: views of storages that are mapped, owned or made on demand. Weight bytes are not copied
// before they are written out. Tied and overlapping tensors keep sharing one storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/api.h"
#include "depute/program/hash.h"
#include "depute/program/result.h"
#include "depute/program/type.h"

namespace depute {

class MappedFile;  // a mapped file, kept alive by its storages

// Bytes with an owner. Immutable; shared by all views and programs that use it.
class DEPUTE_API Storage {
 public:
  static std::shared_ptr<const Storage> mapped(std::shared_ptr<const MappedFile> file,
                                               std::span<const std::byte> bytes);
  static std::shared_ptr<const Storage> owned(std::vector<std::byte> bytes);
  // `size` bytes produced when needed (packing, transposing); `produce` must be pure: bytes() calls it once
  // and keeps what it made, produced_hash() and each produce() call it for themselves. What it throws is an
  // error of the step that needs the bytes.
  static std::shared_ptr<const Storage> lazy(std::size_t size,
                                             std::function<std::vector<std::byte>()> produce);
  // Like lazy(), for bytes that can be made in parts: `produce(offset, size)` returns some of them. Both are
  // multiples of `grain`, which divides the whole size; all units are bytes. Writers request parts, bytes()
  // the whole.
  static std::shared_ptr<const Storage> lazy_parts(
      std::size_t size, std::size_t grain,
      std::function<std::vector<std::byte>(std::size_t offset, std::size_t size)> produce);
  static std::shared_ptr<const Storage> zeros(std::size_t size);  // allocates only when bytes() is called
  // Returns `size` bytes of `whole` from `offset` on, without a copy. A part of a lazy storage is made on
  // first use. An elided storage has no parts except itself.
  static std::shared_ptr<const Storage> part(std::shared_ptr<const Storage> whole, std::size_t offset,
                                             std::size_t size);

  // Placeholder for bytes that a text form omits. Only size and hash are known, so bytes() must not be
  // called.
  static std::shared_ptr<const Storage> elided(std::size_t size, Hash128 content);

  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const;               // thread-safe
  const MappedFile* file() const { return file_.get(); }  // null unless mapped
  bool is_zeros() const { return is_zeros_; }
  const std::optional<Hash128>& elided_content() const { return elided_content_; }
  bool is_elided() const { return elided_content_.has_value(); }
  bool is_lazy() const { return lazy_ != nullptr; }
  // Makes the bytes of a lazy storage for the caller without keeping them, so that a writer can stream them.
  std::vector<std::byte> produce() const;
  // Grain of a lazy_parts() storage in bytes; 0 for a storage that can only be made whole.
  std::size_t grain() const;
  // Makes one part; `offset` and `size` are multiples of grain(), which must not be 0.
  std::vector<std::byte> produce(std::size_t offset, std::size_t size) const;
  // Hash of a lazy storage's bytes, which are made once for it and not kept. Thread-safe.
  const Hash128& produced_hash() const;
  // Says whose bytes a lazy storage has, for the error of a producer that fails. Thread-safe.
  void name_maker(Name maker) const;

 private:
  Storage() = default;
  std::size_t size_ = 0;
  std::shared_ptr<const MappedFile> file_;
  bool is_zeros_ = false;
  std::optional<Hash128> elided_content_;
  struct Lazy;
  std::shared_ptr<Lazy> lazy_;
  std::vector<std::byte> owned_;
  std::shared_ptr<const Storage> whole_;  // storage that view_ is a part of
  std::span<const std::byte> view_;
};

// A constant tensor: a strided view of a storage.
struct DEPUTE_API TensorData {
  TensorType type;          // sizes and strides, all constant
  std::int64_t offset = 0;  // in elements, from the start of the storage
  std::shared_ptr<const Storage> storage;

  // True if the elements are dense, in row-major order.
  bool is_dense() const { return type.is_contiguous(); }
  // Returns the bytes of a dense tensor without a copy. CHECKs is_dense().
  std::span<const std::byte> dense_bytes() const;
  // Returns the elements densely in row-major order: this view if it is dense, else a lazy copy.
  TensorData contiguous() const;
  std::size_t byte_size() const;  // bytes of the dense form
};

// Returns a storage with exactly the tensor's elements in row-major order, as a backend ships a constant.
// This is the tensor's own storage if it matches, a part of it if the view is dense, else a lazy storage.
// Reads and copies no bytes.
DEPUTE_API std::shared_ptr<const Storage> dense_bytes(const TensorData& data);

// True if all elements of the view lie inside the storage. Elided data must hold the elements densely.
DEPUTE_API bool fits_storage(const TensorData& data);

// Hash of a storage's bytes, or of a tensor's elements in row-major order. Works for elided data, too.
DEPUTE_API Hash128 content_hash(const Storage& storage);
DEPUTE_API Hash128 content_hash(const TensorData& data);

// Compares the bytes themselves, except those that a text form omits: of them only the hash is known.
DEPUTE_API bool have_same_bytes(const Storage& a, const Storage& b);

// Bytes of a text, and a storage with these bytes, for backends with a text format.
DEPUTE_API std::vector<std::byte> bytes(std::string_view text);
DEPUTE_API std::shared_ptr<const Storage> storage_of(std::string_view text);

DEPUTE_API TensorData make_data(TensorType type, std::vector<std::byte> bytes);  // a dense owned tensor

// A dense owned tensor of numbers:
//
//   make_data<float>(ScalarType::F32, {2}, {1.0f, 2.0f})
template <typename T>
TensorData make_data(ScalarType dtype, Dims sizes, std::span<const T> values) {
  auto bytes = std::as_bytes(values);
  return make_data(make_tensor(dtype, std::move(sizes)), std::vector<std::byte>(bytes.begin(), bytes.end()));
}
template <typename T>
TensorData make_data(ScalarType dtype, Dims sizes, std::initializer_list<T> values) {
  return make_data<T>(dtype, std::move(sizes), std::span<const T>(values.begin(), values.size()));
}

// --- location of a constant's bytes in a file, so that another process can map the same file
//
//   auto place = place_in_file(*data.storage);             // {"/models/model.pt2", 4096, 1000}
//   DEPUTE_TRY(auto whole, storage_of_file(place->path));  // in the other process
//   auto storage = Storage::part(whole, place->offset, place->size);

struct DataPlace {
  std::string path = {};  // path used to open the file
  std::size_t offset = 0;
  std::size_t size = 0;
};

// Returns nullopt for bytes that are not in a mapped file.
DEPUTE_API std::optional<DataPlace> place_in_file(const Storage& storage);

// Maps a whole file. Fails if it cannot be read.
DEPUTE_API Result<std::shared_ptr<const Storage>> storage_of_file(const std::string& path);

// --- arrays by name, in the order of the file or dictionary they come from, as in numpy.savez
//
//   DEPUTE_TRY(NamedArrays arrays, read_npz("inputs.npz"));      // "x": f32[8, 3, 224, 224]

using NamedArrays = std::vector<std::pair<std::string, TensorData>>;

// Reads a .npz file (a zip archive of .npy files); "-" is standard input. Arrays are not copied: they stay in
// the mapped file, possibly unaligned. Fails for arrays of Python objects, which are pickled.
DEPUTE_API Result<NamedArrays> read_npz(const std::string& path);

}  // namespace depute
