// Interpolation. Nearest neighbors are read by index. Other modes are separable: a product with a matrix of
// weights along each dimension. The weights are computed by a few pointwise ops, which are folded for static
// sizes.
//
//   aten.upsample_linear1d.vec(%x: f32[1, 2, 3], [6], false, none)
//     ->  at = clamp((arange(6) + 0.5) * 0.5 - 0.5, 0)            positions of the results in x
//         w = clamp(1 - abs(at - arange(3)[:, None]), 0)          f32[3, 6]
//         matmul(x, w)
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// A dimension of the image: its size before and after, and the given factor, if any.
struct Axis {
  SymInt from, to;
  std::optional<double> factor;
};

bool is_vec(const OpCall& call) {
  return call.def().args[0].name == "input";
}

// Returns the scale factor from the last arguments of the schema, one per dimension.
std::optional<double> factor_of(const OpCall& call, std::size_t count, std::size_t i) {
  const Argument* factor = nullptr;
  if (!is_vec(call)) {
    factor = &call[call.args().size() - count + i];
  } else if (const Argument& all = call["scale_factors"]; all.is_list() && all.as_list().size() == count) {
    factor = &all.as_list()[i];
  }
  if (factor == nullptr || !factor->is_number() || !(factor->as_double() > 0)) return std::nullopt;
  return factor->as_double();
}

// Returns floor(size * factor); a dynamic size requires a factor that is a multiple of 1/1024.
Result<SymInt> scaled_size(const SymInt& size, double factor) {
  constexpr double largest = 1e15;
  if (size.is_constant()) {
    const double scaled = static_cast<double>(size.value()) * factor;
    if (!(scaled >= 0 && scaled < largest)) return type_error("the scale factor is out of range");
    return SymInt(static_cast<std::int64_t>(scaled));
  }
  constexpr std::int64_t parts = 1024;
  const double times = factor * parts;
  if (times != std::floor(times) || times > largest)
    return type_error("the scale factor of a dynamic size must be a multiple of 1/1024");
  const auto whole = static_cast<std::int64_t>(times);
  const std::int64_t common = std::gcd(whole, parts);
  return floor_div(size * (whole / common), SymInt(parts / common));
}

// Reads the last `count` dimensions: their sizes are given, or computed from the input's sizes and factors.
Result<std::vector<Axis>> read_axes(const OpCall& call, std::size_t count) {
  const TensorType& input = call[0].as_value()->tensor();
  if (input.rank() != count + 2) return argument_error("the image has the wrong rank");
  Dims wanted = as_dims(call["output_size"]);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < count; ++i) {
    Axis axis{.from = input.sizes[2 + i], .to = {}, .factor = factor_of(call, count, i)};
    if (wanted.size() == count) {
      axis.to = wanted[i];
    } else {
      if (!axis.factor) return type_error("no output size");
      TRY(axis.to, scaled_size(axis.from, *axis.factor));
    }
    axes.push_back(axis);
  }
  return axes;
}

template <std::size_t count>
Types infer_upsample(const OpCall& call) {
  TRY(std::vector<Axis> axes, read_axes(call, count));
  const TensorType& input = call[0].as_value()->tensor();
  Dims sizes = input.sizes;
  for (std::size_t i = 0; i < count; ++i) sizes[2 + i] = axes[i].to;
  return tensor_result(input.dtype, std::move(sizes));
}

// --- positions of result elements in the input

// Returns a / c, as a number if it is known now, otherwise computed at run time.
BuilderArgument ratio(Builder& b, const SymInt& a, const SymInt& c, ScalarType dtype) {
  if (a.is_constant() && c.is_constant()) {
    if (dtype == ScalarType::F64) return static_cast<double>(a.value()) / static_cast<double>(c.value());
    return static_cast<double>(static_cast<float>(a.value()) / static_cast<float>(c.value()));
  }
  return b.call("aten.div.Tensor", {size_tensor(b, a, dtype), size_tensor(b, c, dtype)});
}

BuilderArgument step_of(Builder& b, const Axis& axis, bool align_corners, ScalarType dtype) {
  if (align_corners) return ratio(b, axis.from - 1, sym_max(axis.to - 1, 1), dtype);
  if (!axis.factor) return ratio(b, axis.from, axis.to, dtype);
  double step = 1 / *axis.factor;
  return dtype == ScalarType::F64 ? step : static_cast<double>(static_cast<float>(step));
}

// Returns [i * step], or with half-pixel centers [(i + 0.5) * step - 0.5].
Value* positions(Builder& b, const Axis& axis, bool align_corners, ScalarType dtype) {
  Value* place = range(b, axis.to, dtype);
  BuilderArgument step = step_of(b, axis, align_corners, dtype);
  if (align_corners) return b.call("aten.mul.Tensor", {place, step});
  Value* middle = b.call("aten.mul.Tensor", {b.call("aten.add.Tensor", {place, 0.5}), step});
  return b.call("aten.sub.Tensor", {middle, 0.5});
}

// --- nearest neighbor

// Images alone have a function of their own in torch for an axis that keeps or doubles its size.
bool ignores_factor(const Axis& axis, bool is_image) {
  return is_image && (axis.to == axis.from || axis.to == axis.from * 2);
}
Value* nearest_index(Builder& b, const Axis& given, bool exact, bool is_image) {
  Axis axis = given;
  if (ignores_factor(axis, is_image)) axis.factor.reset();
  Value* place = range(b, axis.to, ScalarType::F32);
  if (exact) place = b.call("aten.add.Tensor", {place, 0.5});
  place = b.call("aten.mul.Tensor", {place, step_of(b, axis, false, ScalarType::F32)});
  Value* index = to_dtype(b, b.call("aten.floor.default", {place}), ScalarType::I64);
  if (axis.from.is_constant()) {
    return b.call("aten.clamp.default", {index, Argument::none(), axis.from.value() - 1});
  }
  return b.call("aten.minimum.default", {index, size_tensor(b, axis.from - 1, ScalarType::I64)});
}

// Torch's functions for one, two and three dimensions differ where a factor is not that of the sizes.
Status check_factors(const std::vector<Axis>& axes, bool is_image) {
  for (const Axis& axis : axes) {
    if (!axis.factor || !axis.from.is_constant() || !axis.to.is_constant()) continue;
    if (ignores_factor(axis, is_image)) continue;
    TRY(const SymInt scaled, scaled_size(axis.from, *axis.factor));
    if (scaled != axis.to)
      return type_error("the scale factor does not match the ratio of the output size to the input size");
  }
  return {};
}

Replacement nearest(Builder& b, const OpCall& call, std::size_t count, bool exact) {
  TRY(std::vector<Axis> axes, read_axes(call, count));
  const bool is_image = count == 2 && !exact;
  TRY_STATUS(check_factors(axes, is_image));
  std::vector<Value*> indices(2, nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    indices.push_back(along(b, nearest_index(b, axes[i], exact, is_image), i, count));
  }
  return one(b.call("aten.index.Tensor", {call[0], indices}));
}

// --- weights

Value* square(Builder& b, Value* x) {
  return b.call("aten.mul.Tensor", {x, x});
}
// a * x + c
Value* line(Builder& b, Value* x, double a, double c) {
  return b.call("aten.add.Tensor", {b.call("aten.mul.Tensor", {x, a}), c});
}

// max(1 - d, 0)
Value* tent(Builder& b, Value* d) {
  return positive_part(b, b.call("aten.rsub.Scalar", {d, 1}));
}
// ((a + 2) d - (a + 3)) d^2 + 1 up to 1; ((a d - 5a) d + 8a) d - 4a up to 2; then 0
Value* cubic(Builder& b, Value* d, double a) {
  Value* near = line(b, d, a + 2, -(a + 3));
  near = b.call("aten.add.Tensor", {b.call("aten.mul.Tensor", {near, square(b, d)}), 1});
  Value* far = b.call("aten.mul.Tensor", {line(b, d, a, -5 * a), d});
  far = b.call("aten.mul.Tensor", {b.call("aten.add.Tensor", {far, 8 * a}), d});
  far = b.call("aten.sub.Tensor", {far, 4 * a});
  far = zero_unless(b, b.call("aten.lt.Scalar", {d, 2}), far);
  return b.call("aten.where.self", {b.call("aten.le.Scalar", {d, 1}), near, far});
}
// sin(pi d) / (pi d) * sin(pi d / 3) / (pi d / 3) up to 3; then 0
Value* lanczos(Builder& b, Value* d) {
  auto sinc = [&](double factor) {
    Value* angle = b.call("aten.mul.Tensor", {d, std::numbers::pi * factor});
    Value* ratio = b.call("aten.div.Tensor", {b.call("aten.sin.default", {angle}), angle});
    return b.call("aten.where.self", {b.call("aten.eq.Scalar", {d, 0}), 1, ratio});
  };
  Value* product = b.call("aten.mul.Tensor", {sinc(1), sinc(1.0 / 3)});
  return zero_unless(b, b.call("aten.lt.Scalar", {d, 3}), product);
}

// |places - at| as [places, at]
Value* distances(Builder& b, Value* places, Value* at) {
  Value* column = b.call("aten.unsqueeze.default", {places, 1});
  return b.call("aten.abs.default", {b.call("aten.sub.Tensor", {column, at})});
}

Value* linear_weights(Builder& b, const Axis& axis, bool align_corners, ScalarType dtype) {
  Value* at = positive_part(b, positions(b, axis, align_corners, dtype));
  // After the last element, the last element is used.
  if (axis.from.is_constant()) {
    at = b.call("aten.clamp.default", {at, Argument::none(), axis.from.value() - 1});
  } else {
    at = b.call("aten.minimum.default", {at, size_tensor(b, axis.from - 1, dtype)});
  }
  return tent(b, distances(b, range(b, axis.from, dtype), at));
}

// Returns the weights of the four elements around each position; outside, the edge element is used.
Value* cubic_weights(Builder& b, const Axis& axis, bool align_corners, ScalarType dtype) {
  constexpr double a = -0.75;
  Value* at = positions(b, axis, align_corners, dtype);
  Value* low = b.call("aten.floor.default", {at});
  Value* last = size_tensor(b, axis.from - 1, dtype);
  Value* column = b.call("aten.unsqueeze.default", {range(b, axis.from, dtype), 1});
  Value* weights = nullptr;
  for (int tap = -1; tap <= 2; ++tap) {
    Value* place = b.call("aten.add.Tensor", {low, tap});
    Value* weight = cubic(b, b.call("aten.abs.default", {b.call("aten.sub.Tensor", {at, place})}), a);
    Value* inside = b.call("aten.minimum.default", {positive_part(b, place), last});
    Value* share = zero_unless(b, b.call("aten.eq.Tensor", {column, inside}), weight);
    weights = weights == nullptr ? share : b.call("aten.add.Tensor", {weights, share});
  }
  return weights;
}

// Anti-aliasing: the filter is as wide as the step between results, and weights sum to 1, or are all 0.
using Filter = Value* (*)(Builder& b, Value* d);
Value* tent_filter(Builder& b, Value* d) {
  return tent(b, d);
}
Value* cubic_filter(Builder& b, Value* d) {
  return cubic(b, d, -0.5);
}

Value* over_width(Builder& b, Value* d, const BuilderArgument& step, ScalarType dtype) {
  if (step.kind == BuilderArgument::Kind::Ready) {
    return b.call("aten.mul.Tensor", {d, 1 / std::max(step.ready.as_double(), 1.0)});
  }
  return b.call("aten.div.Tensor", {d, b.call("aten.maximum.default", {step, size_tensor(b, 1, dtype)})});
}

Value* smooth_weights(Builder& b, const Axis& axis, bool align_corners, ScalarType dtype, Filter filter) {
  BuilderArgument step = step_of(b, axis, align_corners, dtype);
  Value* middle = b.call("aten.add.Tensor", {range(b, axis.to, dtype), 0.5});
  Value* at = b.call("aten.mul.Tensor", {middle, step});
  Value* places = b.call("aten.add.Tensor", {range(b, axis.from, dtype), 0.5});
  Value* weights = filter(b, over_width(b, distances(b, places, at), step, dtype));
  Value* sum = b.call("aten.sum.dim_IntList", {weights, std::vector<std::int64_t>{0}, true});
  // A position far outside has no element nearby.
  Value* divisor = b.call("aten.where.ScalarSelf", {b.call("aten.eq.Scalar", {sum, 0}), 1, sum});
  return b.call("aten.div.Tensor", {weights, divisor});
}

// --- products along each dimension

// Moves the last dimension to the front of the image dimensions, so that the next one is last.
Value* rotate(Builder& b, Value* x, std::size_t count) {
  if (count == 1) return x;
  std::vector<std::int64_t> order{0, 1, static_cast<std::int64_t>(count) + 1};
  for (std::size_t i = 0; i + 1 < count; ++i) order.push_back(static_cast<std::int64_t>(2 + i));
  return b.call("aten.permute.default", {x, order});
}

// With `takes_copies`, an axis with unchanged size is copied, even if a factor is given.
template <typename Weights>
Replacement separable(Builder& b, const OpCall& call, std::size_t count, bool takes_copies,
                      Weights weights_of) {
  TRY(std::vector<Axis> axes, read_axes(call, count));
  ScalarType dtype = call[0].as_value()->tensor().dtype;
  if (!is_floating(dtype)) {
    return type_error(
        "interpolation of integers is not supported (torch uses fixed point); convert to float");
  }
  Value* x = to_compute_type(b, call[0].as_value());
  for (std::size_t i = count; i-- > 0;) {
    if (takes_copies && axes[i].from == axes[i].to) {
      x = rotate(b, x, count);
      continue;
    }
    Value* weights = weights_of(axes[i], compute_type(dtype));
    x = rotate(b, b.call("aten.matmul.default", {x, weights}), count);
  }
  if (x == call[0].as_value()) return one(b.call("aten.alias.default", {call[0]}));
  return one(to_dtype(b, x, dtype));
}

template <std::size_t count>
Replacement upsample_linear(Builder& b, const OpCall& call) {
  bool align_corners = call.boolean("align_corners");
  return separable(b, call, count, true, [&](const Axis& axis, ScalarType dtype) {
    return linear_weights(b, axis, align_corners, dtype);
  });
}
Replacement upsample_bicubic(Builder& b, const OpCall& call) {
  bool align_corners = call.boolean("align_corners");
  return separable(b, call, 2, false, [&](const Axis& axis, ScalarType dtype) {
    return cubic_weights(b, axis, align_corners, dtype);
  });
}
template <Filter filter>
Replacement upsample_smooth(Builder& b, const OpCall& call) {
  bool align_corners = call.boolean("align_corners");
  return separable(b, call, 2, true, [&](const Axis& axis, ScalarType dtype) {
    return smooth_weights(b, axis, align_corners, dtype, filter);
  });
}

// --- forms of the runtime's kernels, which take sizes or factors

// Builds the call in the form of a kernel; empty if the kernel would use other factors.
Replacement by_kernel(Builder& b, const OpCall& call, std::string_view op, bool has_corners) {
  TRY(std::vector<Axis> axes, read_axes(call, 2));
  if (axes[0].factor || axes[1].factor) return std::vector<Value*>{};
  Dims sizes{axes[0].to, axes[1].to};
  if (has_corners) return one(b.call(op, {call[0], sizes, call["align_corners"], Argument::none()}));
  return one(b.call(op, {call[0], sizes, Argument::none()}));
}
Replacement upsample_bilinear2d(Builder& b, const OpCall& call) {
  TRY(std::vector<Value*> results, by_kernel(b, call, "aten.upsample_bilinear2d.vec", true));
  return results.empty() ? upsample_linear<2>(b, call) : Replacement(results);
}
Replacement upsample_nearest2d(Builder& b, const OpCall& call) {
  TRY(std::vector<Value*> results, by_kernel(b, call, "aten.upsample_nearest2d.vec", false));
  return results.empty() ? nearest(b, call, 2, false) : Replacement(results);
}
// Fails for integers: torch computes them in fixed point.
Replacement keep_floats(Builder&, const OpCall& call) {
  if (is_floating(call.tensor("input").dtype)) return std::vector<Value*>{};
  return type_error("interpolation of integers is not supported (torch uses fixed point); convert to float");
}

}  // namespace

std::span<const OpLine> interpolation_ops() {
  static constexpr OpLine lines[] = {
      {"aten.upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None)",
       composite(infer_upsample<1>, upsample_linear<1>)},
      {"aten.upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
       "scale_factors)",
       composite(infer_upsample<1>, upsample_linear<1>)},
      {"aten.upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
       "scales_h=None, float? scales_w=None)",
       composite(infer_upsample<2>, upsample_bilinear2d)},
      {"aten.upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
       "scale_factors)",
       {.flags = Core,
        .out = "upsample_bilinear2d.vec_out",
        .infer = infer_upsample<2>,
        .decompose = keep_floats}},
      {"aten.upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? "
       "scales_d=None, float? scales_h=None, float? scales_w=None)",
       composite(infer_upsample<3>, upsample_linear<3>)},
      {"aten.upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
       "scale_factors)",
       composite(infer_upsample<3>, upsample_linear<3>)},
      {"aten.upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
       "scales_h=None, float? scales_w=None)",
       composite(infer_upsample<2>, upsample_bicubic)},
      {"aten.upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
       "scale_factors)",
       composite(infer_upsample<2>, upsample_bicubic)},
      {"aten.upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None)",
       composite(infer_upsample<1>, given<nearest, 1, false>)},
      {"aten.upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)",
       composite(infer_upsample<1>, given<nearest, 1, false>)},
      {"aten.upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
       "scales_w=None)",
       composite(infer_upsample<2>, upsample_nearest2d)},
      {"aten.upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)",
       kernel("upsample_nearest2d.vec_out", infer_upsample<2>)},
      {"aten.upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
       "scales_h=None, float? scales_w=None)",
       composite(infer_upsample<3>, given<nearest, 3, false>)},
      {"aten.upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)",
       composite(infer_upsample<3>, given<nearest, 3, false>)},
      {"aten._upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None)",
       composite(infer_upsample<1>, given<nearest, 1, true>)},
      {"aten._upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)",
       composite(infer_upsample<1>, given<nearest, 1, true>)},
      {"aten._upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
       "scales_w=None)",
       composite(infer_upsample<2>, given<nearest, 2, true>)},
      {"aten._upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)",
       composite(infer_upsample<2>, given<nearest, 2, true>)},
      {"aten._upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
       "scales_h=None, float? scales_w=None)",
       composite(infer_upsample<3>, given<nearest, 3, true>)},
      {"aten._upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)",
       composite(infer_upsample<3>, given<nearest, 3, true>)},
      {"aten._upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
       "scales_h=None, float? scales_w=None)",
       composite(infer_upsample<2>, upsample_smooth<tent_filter>)},
      {"aten._upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
       "scale_factors)",
       composite(infer_upsample<2>, upsample_smooth<tent_filter>)},
      {"aten._upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
       "scales_h=None, float? scales_w=None)",
       composite(infer_upsample<2>, upsample_smooth<cubic_filter>)},
      {"aten._upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
       "scale_factors)",
       composite(infer_upsample<2>, upsample_smooth<cubic_filter>)},
      {"aten._upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
       "scales_h=None, float? scales_w=None)",
       composite(infer_upsample<2>, upsample_smooth<lanczos>)},
      {"aten._upsample_lanczos2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
       "scale_factors)",
       composite(infer_upsample<2>, upsample_smooth<lanczos>)},
  };
  return lines;
}

}  // namespace depute::internal
