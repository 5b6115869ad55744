// Resizing of images. Of output o, RESIZE reads the input at (o * d + offset) / n, with whole numbers n, d and offset:
//
//   twice the size: (o + 0.5) / 2 - 0.5 = (2 * o - 1) / 4   ->   n 4, d 2, offset -1
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "emitter.h"
#include "windows.h"

namespace depute::tosa::ops {
namespace {

// How one dimension is resized.
struct Scaling {
  std::int64_t n = 1;
  std::int64_t d = 1;
  std::int64_t offset = 0;
  std::int64_t border = 0;
};

struct Fraction {
  std::int64_t above = 1;
  std::int64_t below = 1;
};

// Returns the fraction with the least denominator that is this number.
std::optional<Fraction> fraction_of(double number) {
  constexpr std::int64_t max_denominator = 1024;
  for (std::int64_t below = 1; below <= max_denominator; ++below) {
    const double above = std::round(number * static_cast<double>(below));
    if (above >= 1 && std::abs(number * static_cast<double>(below) - above) < 1e-9 * above)
      return Fraction{static_cast<std::int64_t>(above), below};
  }
  return std::nullopt;
}

// Where output `o` lies: the number of steps of 1 / n.
std::int64_t place(const Scaling& scaling, std::int64_t o) {
  return o * scaling.d + scaling.offset;
}

// Divides by what the numbers have in common, and sets the border, which TOSA wants for the number of outputs.
std::optional<Scaling> finished(Scaling scaling, std::int64_t in, std::int64_t out) {
  const std::int64_t common = std::gcd(std::gcd(scaling.n, scaling.d), scaling.offset);
  scaling = {scaling.n / common, scaling.d / common, scaling.offset / common, 0};
  scaling.border = (out - 1) * scaling.d - (in - 1) * scaling.n + scaling.offset;
  constexpr std::int64_t max_scale = 256;
  const bool is_known = scaling.n <= 2048 && scaling.d < 16 * scaling.n &&
                        scaling.n <= max_scale * scaling.d && scaling.offset >= -scaling.n &&
                        scaling.offset < 16 * scaling.n && scaling.border >= -16 * scaling.n &&
                        scaling.border < scaling.n;
  return is_known ? std::optional(scaling) : std::nullopt;
}

// PyTorch reads at (o + 0.5) / factor - 0.5, or spreads the outputs from the first input to the last.
std::optional<Scaling> bilinear(std::int64_t in, std::int64_t out, const Fraction& factor,
                                bool align_corners) {
  if (align_corners) return finished({.n = out - 1, .d = in - 1}, in, out);
  return finished({.n = 2 * factor.above, .d = 2 * factor.below, .offset = factor.below - factor.above}, in,
                  out);
}

// PyTorch cuts off o / factor in f32; TOSA rounds to the nearest, hence the offset of a half. Not taken where the two
// read different elements.
std::optional<Scaling> nearest(std::int64_t in, std::int64_t out, const Fraction& factor, float step) {
  const auto scaling =
      finished({.n = 2 * factor.above, .d = 2 * factor.below, .offset = -factor.above}, in, out);
  if (!scaling) return std::nullopt;
  for (std::int64_t o = 0; o < out; ++o) {
    const std::int64_t doubled = 2 * place(*scaling, o) + scaling->n;  // in steps of 1 / 2n, behind 0
    const std::int64_t read = std::min(doubled / (2 * scaling->n), in - 1);
    const auto wanted = std::min(static_cast<std::int64_t>(std::floor(static_cast<float>(o) * step)), in - 1);
    if (read != wanted) return std::nullopt;
  }
  return scaling;
}

// `made` are multiples of 1 / factor: RESIZE does not divide integers between which it interpolates.
struct Resized {
  Tensor made;
  double factor = 1;
};

Check resize(Emitter& emit, const OpCall& call, ResizeMode mode, Tensor x, Resized& resized) {
  const bool align_corners = mode == ResizeMode::Bilinear && call.boolean("align_corners");
  const Shape target = emit.result_shape();
  Shape made = target;
  std::array<Scaling, 2> scalings;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t dim = 2 + i;
    const std::int64_t out = target[dim];
    if (align_corners && out == 1) x = emit.slice(x, dim, 0, 1);
    const std::int64_t in = x.shape[dim];
    if (in == 1) made[dim] = 1;  // and is repeated
    if (in == 1 || in == out) continue;
    const bool has_factor = !call["scale_factors"].is_none();
    const double given = has_factor ? call["scale_factors"].as_list()[i].as_double() : 0;
    const auto factor = has_factor ? fraction_of(given) : Fraction{out, in};
    const float step =
        has_factor ? static_cast<float>(1 / given) : static_cast<float>(in) / static_cast<float>(out);
    std::optional<Scaling> scaling;
    if (factor) {
      scaling = mode == ResizeMode::Bilinear ? bilinear(in, out, *factor, align_corners)
                                             : nearest(in, out, *factor, step);
    }
    if (!scaling)
      return Refusal{"argument", std::to_string(in) + " to " + std::to_string(out),
                     "a factor that RESIZE has"};
    scalings[i] = *scaling;
  }
  if (x.shape == made) {
    resized.made = emit.expand(x, target);
    return {};
  }
  const auto [y, z] = scalings;
  const Order order = channels_last_order(4);
  Shape sizes;
  for (const std::uint8_t dim : order) sizes.push_back(made[dim]);
  const bool is_summed = mode == ResizeMode::Bilinear && !is_float(x.dtype);
  const DType of_integers = x.dtype == DType::I16 ? DType::I48 : DType::I32;
  const DType sums = is_summed ? of_integers : x.dtype;
  const Tensor image = emit.raw(Op::Resize,
                                {channels_last(emit, x), emit.shape({y.n, y.d, z.n, z.d}),
                                 emit.shape({y.offset, z.offset}), emit.shape({y.border, z.border})},
                                sums, sizes, ResizeBy{mode});
  resized.made = emit.expand(emit.as(image, order), target);
  if (is_summed) resized.factor = 1 / static_cast<double>(y.n * z.n);
  return {};
}

template <ResizeMode mode>
Check resize_floats(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "input");
  if (!is_float(x.dtype)) return Refusal{"dtype", std::string(name(x.dtype)), "floats"};
  Resized resized;
  DEPUTE_REFUSE_IF(resize(emit, call, mode, x, resized));
  return emit.result(resized.made);
}

template <ResizeMode mode>
Check resize_integers(Emitter& emit, const OpCall& call) {
  const auto x = emit.integers(*call.value("input"));
  const auto wanted = emit.wanted(*call.node()->result());
  if (!x) return refuse_integers(no_integers);
  const Quantization scale = wanted.value_or(x->quantization);
  Resized resized;
  DEPUTE_REFUSE_IF(resize(emit, call, mode, x->tensor, resized));
  if (resized.made.dtype == x->tensor.dtype)
    return emit.integer_result(emit.requantize({resized.made, x->quantization}, scale), scale);
  // Sums of weights that are 1 / factor together.
  const double factor = resized.factor * x->quantization.scale / scale.scale;
  const auto zero = static_cast<std::int32_t>(std::nearbyint(x->quantization.zero_point / resized.factor));
  const Tensor centered =
      zero == 0 ? resized.made : emit.add(Op::Sub, resized.made, static_cast<double>(zero));
  return emit.integer_result(emit.rescale(centered, 0, scale.dtype(), scale.zero_point, factor), scale);
}

}  // namespace

std::span<const OpRule> resize() {
  static constexpr OpRule rules[] = {
      {.op = "aten.upsample_bilinear2d.vec",
       .conditions = "floats",
       .translate = resize_floats<ResizeMode::Bilinear>,
       .integers = IntegerForm::Own,
       .translate_integers = resize_integers<ResizeMode::Bilinear>},
      {.op = "aten.upsample_nearest2d.vec",
       .conditions = "floats",
       .translate = resize_floats<ResizeMode::Nearest>,
       .integers = IntegerForm::Own,
       .translate_integers = resize_integers<ResizeMode::Nearest>},
  };
  return rules;
}

}  // namespace depute::tosa::ops
