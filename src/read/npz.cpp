// Reads the arrays of a .npz file: a zip archive of .npy files, each a short header and the elements.
//
//   \x93NUMPY 1 0, the header's size, {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, 24 bytes
#include "read/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "read/quote.h"
#include "read/read_program.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view npy_ending = ".npy";
constexpr std::string_view zip_magic = "PK";
constexpr std::string_view npy_magic = "\x93NUMPY";
// Maximum header size in bytes: numpy's own default limit.
constexpr std::size_t max_npy_header = 10000;

// '<' means little-endian, '|' means one byte.
constexpr std::array<std::pair<std::string_view, ScalarType>, 10> npy_types = {{
    {"|b1", ScalarType::Bool},
    {"|u1", ScalarType::U8},
    {"|i1", ScalarType::I8},
    {"<i2", ScalarType::I16},
    {"<i4", ScalarType::I32},
    {"<i8", ScalarType::I64},
    {"<f2", ScalarType::F16},
    {"<f4", ScalarType::F32},
    {"<f8", ScalarType::F64},
    {"<c8", ScalarType::C64},
}};

std::optional<ScalarType> dtype_of_descr(std::string_view descr) {
  for (const auto& [name, type] : npy_types) {
    if (name == descr) return type;
  }
  return std::nullopt;
}

// Returns the text after `key` in the header, a Python dictionary: {'descr': '<f4', 'shape': (2, 3), }.
std::optional<std::string_view> item_of(std::string_view header, std::string_view key) {
  const std::string quoted = fmt::format("'{}':", key);
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = header.substr(at + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

// Parses "(2, 3), ...", "(2,), ..." or "(), ...".
std::optional<Dims> read_shape(std::string_view text) {
  const std::size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) return std::nullopt;
  text = text.substr(1, end - 1);
  Dims sizes;
  while (!text.empty()) {
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 0 || sizes.size() == max_rank) return std::nullopt;
    sizes.emplace_back(size);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (!text.empty() && text.front() != ',') return std::nullopt;
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
  }
  return sizes;
}

struct NpyHeader {
  TensorType type;
  std::size_t size = 0;  // bytes before the elements
};

class NpyReader {
 public:
  NpyReader(std::string place, std::span<const std::byte> bytes)
      : place_(std::move(place)), text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  Result<NpyHeader> read() const {
    if (!text_.starts_with(npy_magic) || text_.size() < 10) return fail("not a .npy file");
    const auto byte_at = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(text_[i]));
    };
    const std::size_t version = byte_at(6);
    if (version < 1 || version > 3) return fail(fmt::format("version {} of .npy is not supported", version));
    std::size_t start = 10;
    std::size_t size = byte_at(8) | byte_at(9) << 8;
    if (version > 1) {
      if (text_.size() < 12) return fail("the header is truncated");
      start = 12;
      size |= byte_at(10) << 16 | byte_at(11) << 24;
    }
    if (size > max_npy_header) return fail(fmt::format("the header exceeds {} bytes", max_npy_header));
    if (text_.size() - start < size) return fail("the header is truncated");
    TRY(TensorType type, read_type(text_.substr(start, size)));
    return NpyHeader{.type = std::move(type), .size = start + size};
  }

  Failure fail(std::string_view message, std::string_view hint = {}) const {
    return failure("read_npz", place_, message, hint);
  }

 private:
  Result<TensorType> read_type(std::string_view header) const {
    const auto descr = item_of(header, "descr");
    const auto order = item_of(header, "fortran_order");
    const auto shape = item_of(header, "shape");
    if (!descr || !order || !shape) return fail("the header must have descr, fortran_order and shape");
    const std::size_t end = descr->empty() ? std::string_view::npos : descr->find(descr->front(), 1);
    if (!descr->starts_with('\'') || end == std::string_view::npos)
      return fail("arrays of records are not supported", "save one array for each input");
    const std::string_view name = descr->substr(1, end - 1);
    if (name.starts_with("|O"))
      return fail("arrays of Python objects are not supported",
                  "save arrays of numbers; numpy.stack combines a list of arrays of the same shape");
    const auto dtype = dtype_of_descr(name);
    if (!dtype) return fail(fmt::format("elements of type {} cannot be read", quote(name)));
    auto sizes = read_shape(*shape);
    if (!sizes) return fail("the shape cannot be read");
    TensorType type = make_tensor(*dtype, std::move(*sizes));
    if (!type.static_bytes()) return fail("the shape is too large");
    if (!order->starts_with("True")) return type;
    // Fortran order: the elements of the first dimension are adjacent.
    Dims turned = type.sizes;
    std::ranges::reverse(turned);
    Dims strides = contiguous_strides(turned);
    std::ranges::reverse(strides);
    return make_tensor(*dtype, type.sizes, std::move(strides));
  }

  std::string place_;
  std::string_view text_;
};

Result<TensorData> read_npy(const Archive& archive, const ArchiveEntry& entry) {
  // Verifies the checksum: nothing else distinguishes a damaged sample from a good one.
  TRY(EntryBytes content, archive.read(entry));
  const NpyReader reader(archive.place(entry), content.bytes);
  TRY(NpyHeader header, reader.read());
  TensorData data{.type = std::move(header.type), .storage = nullptr};
  const std::size_t size = *data.type.static_bytes();
  const std::size_t found = content.bytes.size() - header.size;
  if (found != size)
    return reader.fail(fmt::format("got {} bytes of elements; {} need {}", found, str(data.type), size));
  TRY(std::shared_ptr<const Storage> storage, archive.storage(entry));
  data.storage = Storage::part(std::move(storage), header.size, size);
  return data;
}

}  // namespace

std::string_view npy_descr(ScalarType dtype) {
  const auto found = std::ranges::find(npy_types, dtype, &std::pair<std::string_view, ScalarType>::second);
  return found == npy_types.end() ? std::string_view() : found->first;
}

Result<NamedArrays> read_npz(ArchiveSource source, const std::string& path, const ReadLimits& limits) {
  ReadBudget budget(limits);
  const std::string_view text(reinterpret_cast<const char*>(source.bytes.data()), source.bytes.size());
  if (text.starts_with(npy_magic))
    return failure("read_npz", path, "this is a single array without a name",
                   "numpy.savez writes arrays by name");
  if (!text.starts_with(zip_magic))
    return failure("read_npz", path, "not a zip archive of arrays", "numpy.savez writes one");
  TRY(Archive archive, Archive::open(std::move(source), path, limits, budget));
  NamedArrays arrays;
  for (const ArchiveEntry& entry : archive.entries()) {
    if (!entry.name.ends_with(npy_ending)) continue;
    TRY(TensorData data, read_npy(archive, entry));
    arrays.emplace_back(entry.name.substr(0, entry.name.size() - npy_ending.size()), std::move(data));
  }
  if (arrays.empty()) return failure("read_npz", path, "the archive has no arrays");
  return arrays;
}

Result<NamedArrays> read_npz(const std::string& path) {
  TRY(const ReadLimits limits, read_limits());
  TRY(std::shared_ptr<const MappedFile> file, open_input(path));
  return read_npz({.bytes = file->bytes(), .file = file, .storage = nullptr}, path, limits);
}

}  // namespace depute
