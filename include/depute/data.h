// Constant data: views of storages that are mapped, owned or made on demand. Weight bytes are never copied
// before they are written out; tied and overlapping tensors keep sharing one storage.
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
#include <vector>

#include "depute/hash.h"
#include "depute/type.h"

#pragma GCC visibility push(default)

namespace depute {

class MappedFile;  // a file in memory, as its storages keep it

// Bytes with an owner. Immutable once made; shared by all views and programs that need it.
class Storage {
 public:
  static std::shared_ptr<const Storage> mapped(std::shared_ptr<const MappedFile> file,
                                               std::span<const std::byte> bytes);
  static std::shared_ptr<const Storage> owned(std::vector<std::byte> bytes);
  // `size` bytes produced when needed (packing, transposing); `produce` must be pure: bytes() calls it once
  // and keeps what it made, produced_hash() and each produce() call it for themselves. What it throws is an
  // error of the step that needs the bytes.
  static std::shared_ptr<const Storage> lazy(std::size_t size,
                                             std::function<std::vector<std::byte>()> produce);
  // The same of bytes that need not be made all at once: `produce(offset, size)` makes some of them, both
  // multiples of `grain`, which divides the whole size. Called for the whole, and by writers for parts.
  static std::shared_ptr<const Storage> lazy_parts(
      std::size_t size, std::size_t grain,
      std::function<std::vector<std::byte>(std::size_t offset, std::size_t size)> produce);
  static std::shared_ptr<const Storage> zeros(std::size_t size);  // no memory until bytes() is called
  // `size` bytes of `whole` from `offset` on, without a copy; of a lazy storage, made when first needed. The
  // bytes of an elided one have no parts but itself.
  static std::shared_ptr<const Storage> part(std::shared_ptr<const Storage> whole, std::size_t offset,
                                             std::size_t size);

  // Stands for bytes that a text form left out; only their size and hash are known, so bytes() may not be
  // called.
  static std::shared_ptr<const Storage> elided(std::size_t size, Hash128 content);

  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const;               // thread-safe
  const MappedFile* file() const { return file_.get(); }  // null unless mapped
  bool is_zeros() const { return is_zeros_; }
  const std::optional<Hash128>& elided_content() const { return elided_content_; }
  bool is_elided() const { return elided_content_.has_value(); }
  bool is_lazy() const { return lazy_ != nullptr; }
  // The bytes of a lazy storage made anew for the caller and not kept: how the writer streams without holding
  // them.
  std::vector<std::byte> produce() const;
  // Of what lazy_parts() gave its grain, else 0: only made whole.
  std::size_t grain() const;
  // A part of it, made anew; offset and size are multiples of the grain, which is not 0.
  std::vector<std::byte> produce(std::size_t offset, std::size_t size) const;
  // The hash of a lazy storage's bytes: they are made for it once, and not kept. Thread-safe.
  const Hash128& produced_hash() const;
  // Says whose bytes a lazy storage has, for the error of a producer that fails. Thread-safe.
  void name_maker(Symbol maker) const;

 private:
  Storage() = default;
  std::size_t size_ = 0;
  std::shared_ptr<const MappedFile> file_;
  bool is_zeros_ = false;
  std::optional<Hash128> elided_content_;
  struct Lazy;
  std::shared_ptr<Lazy> lazy_;
  std::vector<std::byte> owned_;
  std::shared_ptr<const Storage> whole_;  // what view_ is a part of
  std::span<const std::byte> view_;
};

// A constant tensor: a strided view of a storage.
struct TensorData {
  TensorType type;          // sizes and strides, all constant
  std::int64_t offset = 0;  // elements from the storage's start
  std::shared_ptr<const Storage> storage;

  // True when the elements lie densely, in row-major order of the sizes.
  bool is_dense() const { return type.is_contiguous(); }
  // The bytes of a dense tensor, without a copy. CHECKs is_dense().
  std::span<const std::byte> dense_bytes() const;
  // The same elements densely in row-major order; the view itself when it is dense already, else a lazy copy.
  TensorData contiguous() const;
  std::size_t byte_size() const;  // of the dense form
};

// The bytes of the elements in row-major order, as a storage of their own: what a backend ships of a
// constant, which may be a strided view somewhere in a larger storage. The storage itself when it is all of
// it, a part of it when the view is dense, else made when first needed. Nothing is read or copied here.
std::shared_ptr<const Storage> dense_bytes(const TensorData& data);

// All sizes, strides and the offset stay inside the storage. Elided data holds the tensor's elements densely.
bool fits_storage(const TensorData& data);

// The hash of a storage's bytes, and of a tensor's elements in row-major order. Neither needs elided bytes.
Hash128 content_hash(const Storage& storage);
Hash128 content_hash(const TensorData& data);

// The bytes of a text, and a storage of them: the blob of a backend whose format is text.
std::vector<std::byte> bytes(std::string_view text);
std::shared_ptr<const Storage> storage_of(std::string_view text);

TensorData make_data(TensorType type, std::vector<std::byte> bytes);  // a dense owned tensor

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

}  // namespace depute

#pragma GCC visibility pop
