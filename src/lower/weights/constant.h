// Constants of a payload: weights in the form of a backend, computed from the program's data when they are written.
//
//   Constant w = constant_of("conv.weight", data);      f32[8, 3, 5, 5], no byte read
//   w = permuted(w, {0, 2, 3, 1});                      f32[8, 5, 5, 3]
//   w.storage()                                         permutes when its bytes are asked for
//
// The key names the content: the program's key and the operations applied to it. Equal keys mean equal bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/data.h"
#include "lower/weights/order.h"

namespace depute::weights {

// The bytes of a storage during this object's lifetime. Bytes of a lazy storage are not cached, so that
// writing a large program needs little memory.
class Bytes {
 public:
  explicit Bytes(const std::shared_ptr<const Storage>& storage) : storage_(storage) {
    if (storage->is_lazy()) produced_ = storage->produce();
  }
  // A part of the bytes. A lazy storage must support producing parts.
  Bytes(const std::shared_ptr<const Storage>& storage, std::size_t offset, std::size_t size)
      : storage_(storage), offset_(offset), size_(size) {
    if (storage->is_lazy()) produced_ = storage->produce(offset, size);
  }
  std::span<const std::byte> view() const {
    return storage_->is_lazy() ? produced_ : storage_->bytes().subspan(offset_, size_);
  }
  // Returns writable bytes: the produced ones, or a copy.
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
  std::string base_key;  // key of `base`
  TensorData base;
  Order order;  // order of base's dimensions
  // Factors of the elements: one for all, one per slice along base's `scale_dim`, or, if base is a matrix,
  // one per `group` elements of a row.
  std::shared_ptr<const Constant> scale = nullptr;
  std::size_t scale_dim = 0;
  std::size_t group = 0;  // 0: one factor per slice
  bool is_4bit = false;   // integers from -8 to 7

  // A constant with integers and scales represents f32 numbers.
  bool is_quantized() const { return base.type.dtype == ScalarType::I8 && scale != nullptr; }
  ScalarType dtype() const { return is_quantized() ? ScalarType::F32 : base.type.dtype; }
  Dims sizes() const { return permuted(base.type.sizes, order); }
  std::string key() const;
  bool moves_elements() const;  // the elements are in another order than in base
  // Returns the dense bytes; the program's own storage if nothing is to be changed.
  std::shared_ptr<const Storage> storage() const;
};

// A constant with data of the program. `key` is unique in the program.
Constant constant_of(std::string_view key, const TensorData& data);
// A constant with all elements equal to `value`.
Constant filled(ScalarType dtype, const Dims& sizes, double value);

Constant permuted(const Constant& constant, const Order& order);
Constant reshaped(const Constant& constant, const Dims& sizes);
Constant to_f32(const Constant& constant);  // from f16 or f32

// Returns an f32 constant computed from others. `what` names the computation with all parameters in the key.
using ElementFunction = std::function<std::vector<float>(std::span<const std::vector<float>> inputs)>;
Constant computed(std::string_view what, std::vector<Constant> inputs, const Dims& sizes,
                  ElementFunction compute);

// Returns f32 from i8 integers: each is multiplied by the scale of its slice along `dim`, of its group in a
// row, or by the only scale.
Constant dequantized(const Constant& integers, const Constant& scale, std::size_t dim, std::size_t group = 0);
// Returns the i8 integers that were passed to dequantized().
Constant integers_of(const Constant& quantized);

// Returns f32 with `count` elements, from a constant with one or `count` elements.
Constant repeated(const Constant& constant, std::int64_t count);
// Multiplies slices of weights along `axis` by the elements of `scale` (one, or one per slice).
Constant scaled(const Constant& weights, const Constant& scale, std::size_t axis);

// Returns the elements of an f32 or f16 constant; reads the bytes.
std::vector<float> to_floats(const Constant& constant);
// Returns a constant computed from the bytes of others when written. `what` is the computation in the key.
using BytesFunction = std::function<std::vector<std::byte>(std::span<Bytes> inputs)>;
Constant converted(std::string_view what, std::vector<Constant> inputs, ScalarType dtype, const Dims& sizes,
                   BytesFunction convert);
// Like converted(), for functions that map every two bytes of one constant to one byte, in order. Works in
// parts if the input's bytes are available in parts.
using NarrowFunction = std::function<std::vector<std::byte>(Bytes input)>;
Constant narrowed(std::string_view what, const Constant& input, ScalarType dtype, const Dims& sizes,
                  NarrowFunction convert);
std::int64_t numel(const Constant& constant);

}  // namespace depute::weights
