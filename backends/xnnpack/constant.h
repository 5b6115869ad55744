// Constants of a payload: weights as XNNPACK wants them, made from the program's data when they are written
// out.
//
//   Constant w = constant_of("conv.weight", data);      f32[8, 3, 5, 5], no byte read
//   w = permuted(w, {0, 2, 3, 1});                      f32[8, 5, 5, 3]
//   w.storage()                                         permutes when its bytes are asked for
//
// The key names the content: the program's key and what was done to it. Equal keys mean equal bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/data.h"
#include "order.h"

namespace depute::xnnpack {

// The bytes of a storage for as long as this lives. Made ones are not kept, so that memory stays small while
// a large program is written out.
class Bytes {
 public:
  explicit Bytes(const std::shared_ptr<const Storage>& storage) : storage_(storage) {
    if (storage->is_lazy()) produced_ = storage->produce();
  }
  // A part: of a lazy storage, what can be made in parts.
  Bytes(const std::shared_ptr<const Storage>& storage, std::size_t offset, std::size_t size)
      : storage_(storage), offset_(offset), size_(size) {
    if (storage->is_lazy()) produced_ = storage->produce(offset, size);
  }
  std::span<const std::byte> view() const {
    return storage_->is_lazy() ? produced_ : storage_->bytes().subspan(offset_, size_);
  }
  // To write into: those that were made, or a copy.
  std::vector<std::byte> take() {
    if (storage_->is_lazy()) return std::move(produced_);
    return {view().begin(), view().end()};
  }
  bool is_made() const { return storage_->is_lazy(); }

 private:
  std::shared_ptr<const Storage> storage_;
  std::size_t offset_ = 0;
  std::size_t size_ = std::dynamic_extent;
  std::vector<std::byte> produced_;
};

struct Constant {
  std::string base_key;  // of `base`
  TensorData base;
  Order order;  // of base's dimensions
  // Elements to be multiplied: by the only element of `scale`, or by one per slice along base's `scale_dim`;
  // or by one for each `group` elements of a row, where base is a matrix.
  std::shared_ptr<const Constant> scale = nullptr;
  std::size_t scale_dim = 0;
  std::size_t group = 0;  // 0: slices are whole
  bool is_4bit = false;   // integers from -8 to 7

  // Integers with scales are numbers that have been quantised, whose type is f32.
  bool is_quantised() const { return base.type.dtype == ScalarType::I8 && scale != nullptr; }
  ScalarType dtype() const { return is_quantised() ? ScalarType::F32 : base.type.dtype; }
  Dims sizes() const { return permuted(base.type.sizes, order); }
  std::string key() const;
  bool moves_elements() const;  // they lie otherwise than in base
  // The dense bytes; the program's own storage where nothing is to be changed.
  std::shared_ptr<const Storage> storage() const;
};

// Data of the program. `key` is unique in it.
Constant constant_of(std::string_view key, const TensorData& data);
// All elements `value`.
Constant filled(ScalarType dtype, const Dims& sizes, double value);

Constant permuted(const Constant& constant, const Order& order);
Constant reshaped(const Constant& constant, const Dims& sizes);
Constant to_f32(const Constant& constant);  // of f16 or f32

// A new f32 constant computed from others. `what` names the computation, with all its numbers, in the key.
using ElementFunction = std::function<std::vector<float>(std::span<const std::vector<float>> inputs)>;
Constant computed(std::string_view what, std::vector<Constant> inputs, const Dims& sizes,
                  ElementFunction compute);

// f32 of i8 integers: each times the scale of its slice along `dim` (or the only one), or of its group in a
// row.
Constant dequantised(const Constant& integers, const Constant& scale, std::size_t dim, std::size_t group = 0);
// What dequantised() was made of, i8.
Constant integers_of(const Constant& quantised);

// f32 with `count` elements, of a constant with one or as many.
Constant repeated(const Constant& constant, std::int64_t count);
// Weights whose slices along `axis` are multiplied by the elements of `scale` (one, or one per slice).
Constant scaled(const Constant& weights, const Constant& scale, std::size_t axis);

// The elements of an f32 or f16 constant; reads the bytes.
std::vector<float> to_floats(const Constant& constant);
// A new constant computed from the bytes of others when it is written. `what` names the computation in the
// key.
using BytesFunction = std::function<std::vector<std::byte>(std::span<Bytes> inputs)>;
Constant converted(std::string_view what, std::vector<Constant> inputs, ScalarType dtype, const Dims& sizes,
                   BytesFunction convert);
// The same where two bytes of one constant become one, in order: in parts, where the input's bytes are there
// or can be made so.
using NarrowFunction = std::function<std::vector<std::byte>(Bytes input)>;
Constant narrowed(std::string_view what, const Constant& input, ScalarType dtype, const Dims& sizes,
                  NarrowFunction convert);
std::int64_t numel(const Constant& constant);

}  // namespace depute::xnnpack
