#include "kernels/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "ir/small_float.h"
#include "ops/broadcast.h"
#include "support/check.h"
#include "support/try.h"

namespace depute::internal {
namespace {

struct Bool {
  std::uint8_t byte;
};
template <ScalarType type>
struct SmallFloat {
  static constexpr ScalarType dtype = type;
  std::conditional_t<type == ScalarType::F16 || type == ScalarType::BF16, std::uint16_t, std::uint8_t> bits;
};
template <typename T>
concept IsSmallFloat = requires { T::dtype; };

// Calls visit(E{}) with E the type of an element in memory.
template <typename Visit>
void visit_element(ScalarType dtype, Visit&& visit) {
  switch (dtype) {
    case ScalarType::U8:
      return visit(std::uint8_t{});
    case ScalarType::I8:
      return visit(std::int8_t{});
    case ScalarType::I16:
      return visit(std::int16_t{});
    case ScalarType::I32:
      return visit(std::int32_t{});
    case ScalarType::I64:
      return visit(std::int64_t{});
    case ScalarType::U16:
      return visit(std::uint16_t{});
    case ScalarType::U32:
      return visit(std::uint32_t{});
    case ScalarType::F16:
      return visit(SmallFloat<ScalarType::F16>{});
    case ScalarType::BF16:
      return visit(SmallFloat<ScalarType::BF16>{});
    case ScalarType::F32:
      return visit(float{});
    case ScalarType::F64:
      return visit(double{});
    case ScalarType::Bool:
      return visit(Bool{});
    case ScalarType::F8E4M3FN:
      return visit(SmallFloat<ScalarType::F8E4M3FN>{});
    case ScalarType::F8E5M2:
      return visit(SmallFloat<ScalarType::F8E5M2>{});
    case ScalarType::F8E4M3FNUZ:
      return visit(SmallFloat<ScalarType::F8E4M3FNUZ>{});
    case ScalarType::F8E5M2FNUZ:
      return visit(SmallFloat<ScalarType::F8E5M2FNUZ>{});
    case ScalarType::F8E8M0FNU:
      return visit(SmallFloat<ScalarType::F8E8M0FNU>{});
    case ScalarType::C32:
    case ScalarType::C64:
    case ScalarType::C128:
    case ScalarType::U64:
      break;
  }
  CHECK(false) << "no arithmetic on " << name(dtype);
}

// Truncates a float to an integer. A value out of range becomes the smallest 32-bit or 64-bit integer, as on
// most processors.
template <typename To>
To truncate(double number) {
  using Wide = std::conditional_t<std::is_signed_v<To> && sizeof(To) <= 4, std::int32_t, std::int64_t>;
  constexpr double limit = sizeof(Wide) == 4 ? 2147483648.0 : 9223372036854775808.0;
  double whole = std::trunc(number);
  if (!(whole >= -limit && whole < limit)) return static_cast<To>(std::numeric_limits<Wide>::min());
  return static_cast<To>(static_cast<Wide>(whole));
}

template <typename To, typename From>
To convert(From value) {
  if constexpr (IsSmallFloat<From>) {
    return convert<To>(decode_small_float(From::dtype, value.bits));
  } else if constexpr (std::is_same_v<From, Bool>) {
    return convert<To>(static_cast<std::int64_t>(value.byte != 0));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (IsSmallFloat<To>) {
    auto bits = encode_small_float(To::dtype, static_cast<double>(value));
    return {static_cast<decltype(To::bits)>(bits)};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return truncate<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename T>
bool is_element(ScalarType dtype) {
  if constexpr (std::is_same_v<T, float>) return dtype == ScalarType::F32;
  if constexpr (std::is_same_v<T, double>) return dtype == ScalarType::F64;
  return dtype == ScalarType::I64 && std::is_same_v<T, std::int64_t>;
}

template <typename To, typename From>
void convert_rows(const TensorData& data, std::span<const std::byte> bytes, To* out) {
  for_each_row(sizes_of(data), strides_of(data), data.offset,
               [&](std::int64_t position, std::int64_t stride, std::int64_t count) {
                 const std::byte* from = bytes.data() + position * static_cast<std::int64_t>(sizeof(From));
                 for (std::int64_t i = 0; i < count; ++i) {
                   From element;
                   std::memcpy(&element, from + i * stride * static_cast<std::int64_t>(sizeof(From)),
                               sizeof(From));
                   *out++ = convert<To>(element);
                 }
               });
}

template <typename T>
TensorData make_scalar(ScalarType dtype, T number) {
  return make_data<T>(dtype, {}, std::span<const T>(&number, 1));
}

}  // namespace

Shape sizes_of(const TensorData& data) {
  Shape sizes;
  for (const SymInt& size : data.type.sizes) sizes.push_back(size.value());
  return sizes;
}

Shape dense_strides(const Shape& sizes) {
  Shape strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i > 1; --i) {
    strides[i - 2] = strides[i - 1] * std::max<std::int64_t>(sizes[i - 1], 1);
  }
  return strides;
}

Shape strides_of(const TensorData& data) {
  if (data.type.is_contiguous()) return dense_strides(sizes_of(data));
  Shape strides;
  for (const SymInt& stride : data.type.strides) strides.push_back(stride.value());
  return strides;
}

std::size_t count_of(const TensorData& data) {
  std::size_t count = 1;
  for (const SymInt& size : data.type.sizes) count *= static_cast<std::size_t>(size.value());
  return count;
}

Dims as_dims(const Shape& shape) {
  return Dims(shape.begin(), shape.end());
}

TensorData with_shape(const TensorData& data, const Shape& sizes, const Shape& strides, std::int64_t offset) {
  TensorData view;
  view.type = make_tensor(data.type.dtype, as_dims(sizes), as_dims(strides));
  view.offset = offset;
  view.storage = data.storage;
  return view;
}

TensorData broadcast_to(const TensorData& data, const Shape& sizes) {
  Shape own = sizes_of(data);
  Shape own_strides = strides_of(data);
  CHECK(own.size() <= sizes.size());
  Shape strides(sizes.size(), 0);
  std::size_t lead = sizes.size() - own.size();
  for (std::size_t i = 0; i < own.size(); ++i) {
    CHECK(own[i] == sizes[lead + i] || own[i] == 1);
    if (own[i] == sizes[lead + i]) strides[lead + i] = own_strides[i];
  }
  return with_shape(data, sizes, strides, data.offset);
}

Result<Shape> broadcast_sizes(const Shape& a, const Shape& b) {
  return broadcast_sizes(a, b, [](std::int64_t size, std::int64_t other) {
    return bad_arguments(fmt::format("sizes {} and {} do not broadcast", size, other));
  });
}

Result<std::size_t> checked_dim(std::int64_t dim, std::size_t rank) {
  auto count = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (dim < -count || dim >= count) {
    return bad_arguments(fmt::format("dimension {} is out of range for rank {}", dim, rank));
  }
  return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
}

Failure bad_arguments(std::string_view message) {
  return failure("kernel", "", message);
}

StorageBytes::StorageBytes(const std::shared_ptr<const Storage>& storage) {
  if (storage->is_lazy() && storage.use_count() == 1) {
    produced_ = storage->produce();
    view_ = produced_;
  } else {
    view_ = storage->bytes();
  }
}

Result<Domain> domain_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::U8:
    case ScalarType::I8:
    case ScalarType::I16:
    case ScalarType::I32:
    case ScalarType::I64:
    case ScalarType::U16:
    case ScalarType::U32:
    case ScalarType::Bool:
      return Domain::Int;
    case ScalarType::F16:
    case ScalarType::BF16:
    case ScalarType::F32:
    case ScalarType::F8E4M3FN:
    case ScalarType::F8E5M2:
    case ScalarType::F8E4M3FNUZ:
    case ScalarType::F8E5M2FNUZ:
    case ScalarType::F8E8M0FNU:
      return Domain::Float;
    case ScalarType::F64:
      return Domain::Double;
    case ScalarType::C32:
    case ScalarType::C64:
    case ScalarType::C128:
    case ScalarType::U64:
      break;
  }
  return bad_arguments(fmt::format("the dtype {} is not supported by the reference kernels", name(dtype)));
}

Status check_arithmetic(ScalarType dtype) {
  TRY_STATUS(domain_of(dtype));
  return {};
}

template <typename T>
Elements<T>::Elements(const TensorData& data) : bytes_(data.storage) {
  std::span<const std::byte> bytes = bytes_.span();
  std::size_t count = count_of(data);
  if (data.is_dense() && is_element<T>(data.type.dtype)) {
    const std::byte* start = bytes.data() + static_cast<std::size_t>(data.offset) * sizeof(T);
    if (reinterpret_cast<std::uintptr_t>(start) % alignof(T) == 0) {
      view_ = {reinterpret_cast<const T*>(start), count};
      return;
    }
  }
  converted_.resize(count);
  visit_element(data.type.dtype,
                [&]<typename Element>(Element) { convert_rows<T, Element>(data, bytes, converted_.data()); });
  view_ = converted_;
}

template <typename T>
std::vector<std::byte> pack(ScalarType dtype, std::span<const T> numbers) {
  std::vector<std::byte> bytes(numbers.size() * item_size(dtype));
  visit_element(dtype, [&]<typename Element>(Element) {
    std::byte* out = bytes.data();
    for (T number : numbers) {
      Element element = convert<Element>(number);
      std::memcpy(out, &element, sizeof(Element));
      out += sizeof(Element);
    }
  });
  return bytes;
}

void copy_elements(const TensorData& data, std::span<std::byte> out, std::int64_t offset,
                   const Shape& out_strides) {
  StorageBytes storage(data.storage);
  auto item = static_cast<std::int64_t>(item_size(data.type.dtype));
  Shape sizes = sizes_of(data);
  Shape from_rows;  // position and stride of each row to read, in the order of rows to write
  for_each_row(sizes, strides_of(data), data.offset,
               [&](std::int64_t position, std::int64_t stride, std::int64_t) {
                 from_rows.push_back(position);
                 from_rows.push_back(stride);
               });
  std::size_t row = 0;
  for_each_row(
      sizes, out_strides, offset, [&](std::int64_t position, std::int64_t stride, std::int64_t count) {
        const std::byte* from = storage.span().data() + from_rows[row] * item;
        std::int64_t from_stride = from_rows[row + 1];
        std::byte* to = out.data() + position * item;
        row += 2;
        if (stride == 1 && from_stride == 1) {
          std::memcpy(to, from, static_cast<std::size_t>(count * item));
          return;
        }
        for (std::int64_t i = 0; i < count; ++i) {
          std::memcpy(to + i * stride * item, from + i * from_stride * item, static_cast<std::size_t>(item));
        }
      });
}

TensorData scalar_data(std::int64_t number) {
  return make_scalar(ScalarType::I64, number);
}
TensorData scalar_data(double number) {
  return make_scalar(ScalarType::F64, number);
}
TensorData scalar_data(bool truth) {
  return make_scalar(ScalarType::Bool, static_cast<std::uint8_t>(truth));
}

template class Elements<float>;
template class Elements<double>;
template class Elements<std::int64_t>;
template std::vector<std::byte> pack<float>(ScalarType, std::span<const float>);
template std::vector<std::byte> pack<double>(ScalarType, std::span<const double>);
template std::vector<std::byte> pack<std::int64_t>(ScalarType, std::span<const std::int64_t>);

}  // namespace depute::internal
