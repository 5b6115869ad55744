#include "lower/weights/constant.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "ir/small_float.h"
#include "support/check.h"

namespace depute::weights {
namespace {

// Appends the elements in row-major order of `sizes`. Writes each byte once, without zero-filling first:
// there may be hundreds of megabytes.
template <typename T>
class StridedCopy {
 public:
  StridedCopy(const std::byte* from, std::vector<std::byte>& to) : from_(from), to_(to) {}

  void add_dim(std::int64_t size, std::int64_t stride) {
    sizes_.push_back(size);
    strides_.push_back(stride);
  }

  void run() {
    run(0, 0);
    flush();
  }

 private:
  static constexpr std::int64_t item = sizeof(T);
  static constexpr std::size_t block_size = 1024;

  void run(std::size_t dim, std::int64_t offset) {
    if (dim == sizes_.size()) {
      append(from_ + offset * item, 1);
    } else if (dim + 1 < sizes_.size()) {
      for (std::int64_t i = 0; i < sizes_[dim]; ++i) run(dim + 1, offset + i * strides_[dim]);
    } else if (strides_[dim] == 1) {
      append(from_ + offset * item, static_cast<std::size_t>(sizes_[dim]));
    } else {
      gather(from_ + offset * item, static_cast<std::size_t>(sizes_[dim]), strides_[dim] * item);
    }
  }

  // Appends adjacent elements. Long runs bypass the block.
  void append(const std::byte* source, std::size_t count) {
    if (filled_ + count > block_size) flush();
    if (count > block_size / 4) {
      flush();
      to_.insert(to_.end(), source, source + count * sizeof(T));
      return;
    }
    std::memcpy(&block_[filled_], source, count * sizeof(T));
    filled_ += count;
  }

  void gather(const std::byte* source, std::size_t count, std::int64_t step) {
    while (count > 0) {
      const std::size_t size = std::min(count, block_size - filled_);
      for (std::size_t i = 0; i < size; ++i, source += step)
        std::memcpy(&block_[filled_ + i], source, sizeof(T));
      filled_ += size;
      count -= size;
      if (filled_ == block_size) flush();
    }
  }

  void flush() {
    const auto* start = reinterpret_cast<const std::byte*>(block_.data());
    to_.insert(to_.end(), start, start + filled_ * sizeof(T));
    filled_ = 0;
  }

  const std::byte* from_;  // may be unaligned
  std::vector<std::byte>& to_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> strides_;
  std::array<T, block_size> block_;  // elements that are appended next
  std::size_t filled_ = 0;
};

template <typename T>
void copy_strided(const TensorData& data, const Order& order, std::span<const std::byte> from,
                  std::vector<std::byte>& to) {
  const Dims strides = data.type.is_contiguous() ? contiguous_strides(data.type.sizes) : data.type.strides;
  StridedCopy<T> copy(from.data() + data.offset * static_cast<std::int64_t>(sizeof(T)), to);
  for (std::uint8_t dim : order) copy.add_dim(data.type.sizes[dim].value(), strides[dim].value());
  copy.run();
}

std::vector<std::byte> strided_bytes(const TensorData& data, const Order& order) {
  Bytes from(data.storage);
  std::vector<std::byte> to;
  if (data.byte_size() == 0) return to;
  to.reserve(data.byte_size());
  if (item_size(data.type.dtype) == 1) {
    copy_strided<std::uint8_t>(data, order, from.view(), to);
  } else if (item_size(data.type.dtype) == 2) {
    copy_strided<std::uint16_t>(data, order, from.view(), to);
  } else {
    CHECK(item_size(data.type.dtype) == 4) << name(data.type.dtype);
    copy_strided<std::uint32_t>(data, order, from.view(), to);
  }
  return to;
}

// Maps each run of adjacent elements, in the constant's order, to its scale.
class Scales {
 public:
  explicit Scales(const Constant& constant) : factors_(to_floats(*constant.scale)), run_(constant.group) {
    if (run_ != 0) return;
    const Dims sizes = constant.sizes();
    std::size_t axis = 0;
    while (axis < sizes.size() && constant.order[axis] != constant.scale_dim) ++axis;
    run_ = 1;
    for (std::size_t i = axis + 1; i < sizes.size(); ++i) run_ *= static_cast<std::size_t>(sizes[i].value());
  }
  std::size_t run() const { return run_; }
  float of_run(std::size_t i) const { return factors_[i % factors_.size()]; }

 private:
  std::vector<float> factors_;
  std::size_t run_ = 1;
};

// Multiplies `bytes`, elements in the constant's order, by their scales. In place, since weights are large.
void multiply(std::vector<std::byte>& bytes, const Constant& constant) {
  const Scales scales(constant);
  const std::size_t inner = scales.run() * sizeof(float);
  for (std::size_t start = 0, row = 0; start < bytes.size(); start += inner, ++row) {
    const float factor = scales.of_run(row);
    for (std::byte* at = &bytes[start]; at < &bytes[start] + inner; at += sizeof(float)) {
      float element = 0;
      std::memcpy(&element, at, sizeof element);
      element *= factor;
      std::memcpy(at, &element, sizeof element);
    }
  }
}

std::vector<std::byte> dequantized_bytes(const std::vector<std::byte>& integers, const Constant& constant) {
  const Scales scales(constant);
  std::vector<float> floats(integers.size());
  for (std::size_t i = 0; i < floats.size(); ++i)
    floats[i] = static_cast<float>(static_cast<std::int8_t>(integers[i])) * scales.of_run(i / scales.run());
  auto bytes = std::as_bytes(std::span(floats));
  return {bytes.begin(), bytes.end()};
}

Constant from_storage(std::string key, ScalarType dtype, const Dims& sizes,
                      std::shared_ptr<const Storage> storage) {
  Constant constant;
  constant.base_key = std::move(key);
  constant.base.type = make_tensor(dtype, sizes);
  constant.base.storage = std::move(storage);
  constant.order = identity_order(sizes.size());
  return constant;
}

std::string sizes_key(const Dims& sizes) {  // "8x3"
  std::string text;
  for (const SymInt& size : sizes) text += fmt::format("{}{}", text.empty() ? "" : "x", size.value());
  return text;
}

std::vector<std::byte> to_bytes(std::span<const float> numbers) {
  auto bytes = std::as_bytes(numbers);
  return {bytes.begin(), bytes.end()};
}

std::size_t byte_count(ScalarType dtype, const Dims& sizes) {
  return *make_tensor(dtype, sizes).static_bytes();
}

std::string call_key(std::string_view what, std::span<const Constant> inputs) {
  std::string key = fmt::format("xnn:{}(", what);
  for (const Constant& input : inputs)
    key += fmt::format("{}{}", &input == inputs.data() ? "" : ",", input.key());
  return key + ")";
}

// Returns the constant with its scale multiplied in. The product is computed when the constant is written.
Constant without_scale(const Constant& constant) {
  return from_storage(constant.key(), constant.dtype(), constant.sizes(), constant.storage());
}

std::int64_t count_before(const Dims& sizes, std::size_t dim) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < dim; ++i) count *= sizes[i].value();
  return count;
}

// Returns the dimension of `sizes` whose slices have one scale each (any if all share one), or nullopt.
std::optional<std::size_t> dim_of_slices(const Constant& constant, const Dims& sizes) {
  if (numel(*constant.scale) == 1) return 0;
  const Dims own = constant.sizes();
  std::size_t axis = 0;
  while (constant.order[axis] != constant.scale_dim) ++axis;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim)
    if (sizes[dim] == own[axis] && count_before(sizes, dim) == count_before(own, axis)) return dim;
  return std::nullopt;
}

// Multiplies scales, which may have several elements per slice (groups), by one factor per slice or in total.
Constant product_of_scales(const Constant& scales, const Constant& factors) {
  const std::int64_t count = std::max(numel(scales), numel(factors));
  return computed("product", {scales, factors}, {count}, [count](std::span<const std::vector<float>> in) {
    const auto element = [&](const std::vector<float>& from, std::size_t i) {
      return from[i * from.size() / static_cast<std::size_t>(count)];
    };
    std::vector<float> result(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = element(in[0], i) * element(in[1], i);
    return result;
  });
}

}  // namespace

bool Constant::moves_elements() const {
  return !same_elements(order, identity_order(order.size()), base.type.sizes);
}

std::string Constant::key() const {
  std::string text = base_key;
  if (scale != nullptr) {
    const std::string groups = group == 0 ? "" : fmt::format("/{}", group);
    text = fmt::format("xnn:scale{}{}({},{})", scale_dim, groups, base_key, scale->key());
  }
  if (!moves_elements()) return text;
  text += fmt::format(":{}:", sizes_key(base.type.sizes));
  for (std::uint8_t dim : order) text += static_cast<char>('0' + dim);
  return text;
}

std::shared_ptr<const Storage> Constant::storage() const {
  const std::size_t size = base.byte_size();
  const bool is_whole = base.is_dense() && base.offset == 0 && base.storage->size() == size;
  if (!moves_elements() && is_whole && scale == nullptr) return base.storage;
  return Storage::lazy(is_quantized() ? size * sizeof(float) : size, [constant = *this] {
    std::vector<std::byte> bytes = strided_bytes(constant.base, constant.order);
    if (constant.is_quantized()) return dequantized_bytes(bytes, constant);
    if (constant.scale != nullptr) multiply(bytes, constant);
    return bytes;
  });
}

Constant constant_of(std::string_view key, const TensorData& data) {
  return {.base_key = fmt::format("xnn:{}", key), .base = data, .order = identity_order(data.type.rank())};
}

Constant filled(ScalarType dtype, const Dims& sizes, double value) {
  const std::size_t count = byte_count(dtype, sizes) / item_size(dtype);
  const auto number = static_cast<float>(value);
  std::string key =
      fmt::format("xnn:={}:{:08x}:{}", name(dtype), std::bit_cast<std::uint32_t>(number), count);
  if (dtype == ScalarType::F16) {
    std::vector<std::uint16_t> halves(count, float_to_half(number));
    auto bytes = std::as_bytes(std::span(halves));
    return from_storage(std::move(key), dtype, sizes, Storage::owned({bytes.begin(), bytes.end()}));
  }
  CHECK(dtype == ScalarType::F32) << name(dtype);
  return from_storage(std::move(key), dtype, sizes,
                      Storage::owned(to_bytes(std::vector<float>(count, number))));
}

Constant permuted(const Constant& constant, const Order& order) {
  Constant result = constant.group != 0 && !is_identity(order) ? without_scale(constant) : constant;
  result.order = compose(constant.order, order);
  return result;
}

// Integers keep their scales if the reshape keeps the slices.
Constant reshaped(const Constant& constant, const Dims& sizes) {
  if (constant.is_quantized() && constant.group == 0) {
    if (auto dim = dim_of_slices(constant, sizes)) {
      Constant result = dequantized(reshaped(integers_of(constant), sizes), *constant.scale, *dim);
      result.is_4bit = constant.is_4bit;
      return result;
    }
  }
  return from_storage(constant.key(), constant.dtype(), sizes, constant.storage());
}

Constant dequantized(const Constant& integers, const Constant& scale, std::size_t dim, std::size_t group) {
  CHECK(integers.dtype() == ScalarType::I8 && integers.scale == nullptr);
  CHECK(group == 0 || is_identity(integers.order));
  Constant result = integers;
  result.scale = std::make_shared<const Constant>(scale);
  result.scale_dim = integers.order.empty() ? 0 : integers.order[dim];
  result.group = group;
  return result;
}

Constant integers_of(const Constant& quantized) {
  Constant result = quantized;
  result.scale = nullptr;
  result.scale_dim = result.group = 0;
  result.is_4bit = false;
  return result;
}

Constant converted(std::string_view what, std::vector<Constant> inputs, ScalarType dtype, const Dims& sizes,
                   BytesFunction convert) {
  std::string key = call_key(what, inputs);
  auto produce = [inputs = std::move(inputs), convert = std::move(convert)] {
    std::vector<Bytes> bytes;
    for (const Constant& input : inputs) bytes.emplace_back(input.storage());
    return convert(bytes);
  };
  return from_storage(std::move(key), dtype, sizes,
                      Storage::lazy(byte_count(dtype, sizes), std::move(produce)));
}

Constant narrowed(std::string_view what, const Constant& input, ScalarType dtype, const Dims& sizes,
                  NarrowFunction convert) {
  const std::shared_ptr<const Storage> from = input.storage();
  const std::size_t size = byte_count(dtype, sizes);
  CHECK(from->size() == size * 2) << from->size() << " bytes to " << size;
  const std::size_t grain = from->is_lazy() ? from->grain() : 2 * item_size(dtype);
  std::shared_ptr<const Storage> storage;
  if (grain != 0 && grain % 2 == 0) {
    storage = Storage::lazy_parts(size, grain / 2, [from, convert](std::size_t offset, std::size_t part) {
      return convert(Bytes(from, offset * 2, part * 2));
    });
  } else {
    storage = Storage::lazy(size, [from, convert] { return convert(Bytes(from)); });
  }
  return from_storage(call_key(what, std::span(&input, 1)), dtype, sizes, std::move(storage));
}

Constant to_f32(const Constant& constant) {
  if (constant.dtype() == ScalarType::F32) return constant;
  return computed("f32", {constant}, constant.sizes(),
                  [](std::span<const std::vector<float>> inputs) { return inputs[0]; });
}

Constant computed(std::string_view what, std::vector<Constant> inputs, const Dims& sizes,
                  ElementFunction compute) {
  std::string key = call_key(what, inputs);
  auto produce = [inputs = std::move(inputs), compute = std::move(compute)] {
    std::vector<std::vector<float>> values;
    for (const Constant& input : inputs) values.push_back(to_floats(input));
    return to_bytes(compute(values));
  };
  const std::size_t size = byte_count(ScalarType::F32, sizes);
  return from_storage(std::move(key), ScalarType::F32, sizes, Storage::lazy(size, std::move(produce)));
}

Constant repeated(const Constant& constant, std::int64_t count) {
  if (numel(constant) == count) return constant;
  return computed("repeat:" + std::to_string(count), {constant}, {count},
                  [count](std::span<const std::vector<float>> in) {
                    return std::vector<float>(static_cast<std::size_t>(count), in[0][0]);
                  });
}

Constant scaled(const Constant& weights, const Constant& scale, std::size_t axis) {
  if (weights.is_quantized() && weights.order[axis] == weights.scale_dim) {
    Constant result = weights;
    result.scale = std::make_shared<const Constant>(product_of_scales(*weights.scale, scale));
    return result;
  }
  const Constant f32 = to_f32(weights);
  Constant result = f32.scale == nullptr ? f32 : without_scale(f32);
  result.scale = std::make_shared<const Constant>(scale);
  result.scale_dim = result.order[axis];
  return result;
}

std::vector<float> to_floats(const Constant& constant) {
  const std::shared_ptr<const Storage> storage = constant.storage();
  Bytes bytes(storage);
  const std::size_t count = bytes.view().size() / item_size(constant.dtype());
  std::vector<float> result(count);
  if (count == 0) return result;
  if (constant.dtype() == ScalarType::F32) {
    std::memcpy(result.data(), bytes.view().data(), count * sizeof(float));
    return result;
  }
  CHECK(constant.dtype() == ScalarType::F16) << name(constant.dtype());
  std::vector<std::uint16_t> halves(count);
  std::memcpy(halves.data(), bytes.view().data(), count * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < count; ++i) result[i] = half_to_float(halves[i]);
  return result;
}

std::int64_t numel(const Constant& constant) {
  return constant.base.type.static_numel().value();
}

}  // namespace depute::weights
