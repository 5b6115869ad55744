#include "depute/program/data.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>

#include "support/check.h"
#include "support/guarded.h"
#include "support/mapped_file.h"
#include "support/parallel_for.h"

namespace depute {
namespace {

std::size_t dense_size(const TensorType& type) {
  auto size = type.static_bytes();
  CHECK(size.has_value()) << str(type);
  return *size;
}

// Copies `count` elements with the given stride. With a constant item size, each copy is one load and one
// store.
template <std::size_t item>
void copy_row(const std::byte* from, std::int64_t stride, std::int64_t count, std::byte* out) {
  constexpr auto bytes = static_cast<std::int64_t>(item);
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(out + i * bytes, from + i * stride * bytes, item);
}
void copy_row(std::size_t item, const std::byte* from, std::int64_t stride, std::int64_t count,
              std::byte* out) {
  if (stride == 1) {
    std::memcpy(out, from, static_cast<std::size_t>(count) * item);
    return;
  }
  switch (item) {
    case 1:
      return copy_row<1>(from, stride, count, out);
    case 2:
      return copy_row<2>(from, stride, count, out);
    case 4:
      return copy_row<4>(from, stride, count, out);
    case 8:
      return copy_row<8>(from, stride, count, out);
    default:
      return copy_row<16>(from, stride, count, out);
  }
}

// Copies the strided elements of `data` densely to `out`, recursively over the dimensions (at most max_rank).
void copy_elements(const TensorData& data, std::span<const std::byte> bytes, std::size_t dim,
                   std::int64_t offset, std::byte*& out) {
  const std::size_t item = item_size(data.type.dtype);
  const std::size_t rank = data.type.rank();
  const std::int64_t size = rank == 0 ? 1 : data.type.sizes[dim].value();
  const std::int64_t stride = rank == 0 ? 1 : data.type.strides[dim].value();
  if (size == 0) return;
  if (dim + 1 >= rank) {
    copy_row(item, bytes.data() + static_cast<std::size_t>(offset) * item, stride, size, out);
    out += static_cast<std::size_t>(size) * item;
    return;
  }
  for (std::int64_t i = 0; i < size; ++i) copy_elements(data, bytes, dim + 1, offset + i * stride, out);
}

}  // namespace

struct Storage::Lazy {
  std::function<std::vector<std::byte>()> produce;
  std::size_t grain = 0;
  std::function<std::vector<std::byte>(std::size_t offset, std::size_t size)> produce_part;
  Once once;
  std::vector<std::byte> bytes;
  std::atomic<bool> is_made = false;  // `bytes` is set
  Once hashed;
  Hash128 hash;
  std::atomic<Name> maker;

  // Calls a producer, which may be foreign code, and checks the number of bytes.
  template <typename Produce>
  std::vector<std::byte> made(std::size_t size, Produce&& producer) const {
    const auto place = [&] {
      const Name known = maker;
      return failure("data", known.empty() ? "lazily produced bytes" : known.str(), {});
    };
    std::vector<std::byte> given = value_or_throw(call_foreign(place, producer));
    if (given.size() == size) return given;
    Diagnostic fault = place().error();
    fault.message = fmt::format("{} bytes produced, {} promised", given.size(), size);
    throw ThrownError(std::move(fault));
  }
};

std::shared_ptr<const Storage> Storage::mapped(std::shared_ptr<const MappedFile> file,
                                               std::span<const std::byte> bytes) {
  auto storage = std::shared_ptr<Storage>(new Storage);
  storage->size_ = bytes.size();
  storage->file_ = std::move(file);
  storage->view_ = bytes;
  return storage;
}

std::shared_ptr<const Storage> Storage::owned(std::vector<std::byte> bytes) {
  auto storage = std::shared_ptr<Storage>(new Storage);
  storage->size_ = bytes.size();
  storage->owned_ = std::move(bytes);
  storage->view_ = storage->owned_;
  return storage;
}

std::shared_ptr<const Storage> Storage::lazy(std::size_t size,
                                             std::function<std::vector<std::byte>()> produce) {
  auto storage = std::shared_ptr<Storage>(new Storage);
  storage->size_ = size;
  storage->lazy_ = std::make_shared<Lazy>();
  storage->lazy_->produce = std::move(produce);
  return storage;
}

std::shared_ptr<const Storage> Storage::lazy_parts(
    std::size_t size, std::size_t grain,
    std::function<std::vector<std::byte>(std::size_t offset, std::size_t size)> produce) {
  CHECK(grain > 0 && size % grain == 0) << size << " bytes in grains of " << grain;
  auto storage = std::shared_ptr<Storage>(new Storage);
  storage->size_ = size;
  storage->lazy_ = std::make_shared<Lazy>();
  storage->lazy_->grain = grain;
  storage->lazy_->produce_part = produce;
  storage->lazy_->produce = [size, produce = std::move(produce)] { return produce(0, size); };
  return storage;
}

std::shared_ptr<const Storage> Storage::zeros(std::size_t size) {
  auto storage = std::shared_ptr<Storage>(new Storage);
  storage->size_ = size;
  storage->is_zeros_ = true;
  storage->lazy_ = std::make_shared<Lazy>();
  storage->lazy_->produce = [size] { return std::vector<std::byte>(size); };
  return storage;
}

std::shared_ptr<const Storage> Storage::elided(std::size_t size, Hash128 content) {
  auto storage = std::shared_ptr<Storage>(new Storage);
  storage->size_ = size;
  storage->elided_content_ = content;
  return storage;
}

std::shared_ptr<const Storage> Storage::part(std::shared_ptr<const Storage> whole, std::size_t offset,
                                             std::size_t size) {
  CHECK(offset <= whole->size() && size <= whole->size() - offset);
  if (size == whole->size()) return whole;
  CHECK(!whole->is_elided());
  if (whole->is_zeros()) return zeros(size);
  if (whole->is_lazy()) {
    return lazy(size, [whole = std::move(whole), offset, size] {
      std::vector<std::byte> made = whole->produce();
      auto first = made.begin() + static_cast<std::ptrdiff_t>(offset);
      return std::vector<std::byte>(first, first + static_cast<std::ptrdiff_t>(size));
    });
  }
  auto storage = std::shared_ptr<Storage>(new Storage);
  storage->size_ = size;
  storage->file_ = whole->file_;
  storage->view_ = whole->bytes().subspan(offset, size);
  storage->whole_ = std::move(whole);
  return storage;
}

std::span<const std::byte> Storage::bytes() const {
  CHECK(!is_elided()) << "the text form omits these " << size_ << " bytes";
  if (lazy_ == nullptr) return view_;
  lazy_->once.run([&] {
    lazy_->bytes = lazy_->made(size_, lazy_->produce);
    lazy_->is_made = true;
  });
  return lazy_->bytes;
}

std::vector<std::byte> Storage::produce() const {
  CHECK(lazy_ != nullptr);
  return lazy_->made(size_, lazy_->produce);
}

void Storage::name_maker(Name maker) const {
  if (lazy_ != nullptr) lazy_->maker = maker;
}

const Hash128& Storage::produced_hash() const {
  CHECK(lazy_ != nullptr);
  lazy_->hashed.run([&] { lazy_->hash = lazy_->is_made ? hash128(lazy_->bytes) : hash128(produce()); });
  return lazy_->hash;
}

std::size_t Storage::grain() const {
  return lazy_ == nullptr ? 0 : lazy_->grain;
}

std::vector<std::byte> Storage::produce(std::size_t offset, std::size_t size) const {
  CHECK(grain() != 0 && offset % grain() == 0 && size % grain() == 0 && size <= size_ &&
        offset <= size_ - size)
      << offset << " and " << size << " of " << size_ << " in grains of " << grain();
  return lazy_->made(size, [&] { return lazy_->produce_part(offset, size); });
}

std::span<const std::byte> TensorData::dense_bytes() const {
  CHECK(is_dense());
  std::size_t start = static_cast<std::size_t>(offset) * item_size(type.dtype);
  return storage->bytes().subspan(start, dense_size(type));
}

TensorData TensorData::contiguous() const {
  if (is_dense()) return *this;
  TensorData dense;
  dense.type = make_tensor(type.dtype, type.sizes);
  if (storage->is_elided()) {
    dense.storage = storage;
    return dense;
  }
  dense.storage = Storage::lazy(dense_size(dense.type), [view = *this] {
    std::vector<std::byte> bytes(dense_size(view.type));
    std::byte* out = bytes.data();
    // Makes the bytes of a lazy storage for this copy only, so that they are not kept.
    std::vector<std::byte> below =
        view.storage->is_lazy() ? view.storage->produce() : std::vector<std::byte>();
    std::span<const std::byte> from = view.storage->is_lazy() ? below : view.storage->bytes();
    if (!bytes.empty()) copy_elements(view, from, 0, view.offset, out);
    return bytes;
  });
  return dense;
}

std::size_t TensorData::byte_size() const {
  return dense_size(type);
}

std::shared_ptr<const Storage> dense_bytes(const TensorData& data) {
  const TensorData dense = data.contiguous();
  return Storage::part(dense.storage, static_cast<std::size_t>(dense.offset) * item_size(dense.type.dtype),
                       dense.byte_size());
}

std::vector<std::byte> bytes(std::string_view text) {
  auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

std::shared_ptr<const Storage> storage_of(std::string_view text) {
  return Storage::owned(bytes(text));
}

bool fits_storage(const TensorData& data) {
  if (data.storage == nullptr || !data.type.is_static() || data.offset < 0) return false;
  if (!data.type.static_bytes()) return false;
  if (data.storage->is_elided()) return *data.type.static_bytes() == data.storage->size();
  Dims strides = data.type.is_contiguous() ? contiguous_strides(data.type.sizes) : data.type.strides;
  if (strides.size() != data.type.sizes.size()) return false;
  std::int64_t last = data.offset;  // position of the highest element
  bool is_empty = false;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (!strides[i].is_constant() || strides[i].value() < 0 || data.type.sizes[i].value() < 0) return false;
    if (data.type.sizes[i] == 0) {
      is_empty = true;
      continue;
    }
    std::int64_t span = 0;
    if (__builtin_mul_overflow(data.type.sizes[i].value() - 1, strides[i].value(), &span)) return false;
    if (__builtin_add_overflow(last, span, &last)) return false;
  }
  std::int64_t end = 0;
  if (__builtin_add_overflow(is_empty ? data.offset : last, is_empty ? 0 : 1, &end)) return false;
  if (__builtin_mul_overflow(end, static_cast<std::int64_t>(item_size(data.type.dtype)), &end)) return false;
  if (is_empty) return true;
  return static_cast<std::uint64_t>(end) <= data.storage->size();
}

Hash128 content_hash(const Storage& storage) {
  if (storage.is_elided()) return *storage.elided_content();
  if (storage.is_zeros()) return hash128_of_zeros(storage.size());
  return storage.is_lazy() ? storage.produced_hash() : hash128(storage.bytes());
}

Hash128 content_hash(const TensorData& data) {
  if (data.storage->is_elided()) return *data.storage->elided_content();
  if (data.storage->is_zeros()) return hash128_of_zeros(data.byte_size());
  return hash128(data.contiguous().dense_bytes());
}

TensorData make_data(TensorType type, std::vector<std::byte> bytes) {
  TensorData data;
  data.type = std::move(type);
  CHECK(data.is_dense() && dense_size(data.type) == bytes.size()) << str(data.type);
  data.storage = Storage::owned(std::move(bytes));
  return data;
}

}  // namespace depute
