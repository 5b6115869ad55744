// Operands of products that are computed with integers: convolutions and products of matrices.
//
//   (x - x_zero) * (w - w_zero), summed up, plus the bias; RESCALE by x_scale * w_scale / result_scale
#pragma once

#include <string_view>

#include "emitter.h"

namespace depute::tosa {

struct IntegerProduct {
  Tensor a;     // i8 or i16
  Tensor b;     // i8 or i16
  Tensor bias;  // [channels] or [1], in the type of the sums: i32, or i48 of products with i16
  ProductScales scales;
  Quantization result;
};

// The dimension of b that makes the channels of the result. Its slices may have a scale each.
struct Channels {
  std::size_t dim = 0;
  std::int64_t channels = 1;
};

// Finds the operands by the names of arguments. Refuses if one of them has no integers or the result is not quantized.
// `bias` may be empty.
Check find_integer_product(Emitter& emit, const OpCall& call, std::string_view a, std::string_view b,
                           std::string_view bias, const Channels& channels, IntegerProduct& product);

}  // namespace depute::tosa
