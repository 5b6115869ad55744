// Grid sampling: images and volumes read at computed positions, and the grids of positions. The runtime
// samples only images; a volume is read at the eight elements around each position, weighted by distance.
//
//   aten.grid_sampler.default(%x: f32[1, 2, 4, 4, 4], %grid: f32[1, 3, 3, 3, 3], 0, 0, false)
//     ->  per dimension floor(((%grid + 1) * 4 - 1) / 2) and the next;
//         the sum of gather(%x, 2, z * 16 + y * 4 + x) * share
#include <optional>
#include <utility>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/math/formula.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Infers an image or a volume, and a grid with coordinates for each position of the result, the last
// dimension first.
Types infer_sampling(const OpCall& call, std::size_t rank) {
  const TensorType& input = call.tensor("input");
  const TensorType& grid = call.tensor("grid");
  if (input.rank() != rank || grid.rank() != rank || grid.sizes.back() != static_cast<std::int64_t>(rank) - 2)
    return type_error("grid sampling requires an image and a grid of rank 4, or both of rank 5");
  const std::int64_t mode = call.integer("interpolation_mode"), padding = call.integer("padding_mode");
  if (mode < 0 || mode > (rank == 4 ? 2 : 1) || padding < 0 || padding > 2)
    return argument_error("unknown mode of grid sampling");
  Dims sizes{input.sizes[0], input.sizes[1]};
  sizes.insert(sizes.end(), grid.sizes.begin() + 1, grid.sizes.end() - 1);
  return tensor_result(input.dtype, std::move(sizes));
}
Types infer_grid_sampler_2d(const OpCall& call) {
  return infer_sampling(call, 4);
}
Types infer_grid_sampler_3d(const OpCall& call) {
  return infer_sampling(call, 5);
}
Types infer_grid_sampler(const OpCall& call) {
  return infer_sampling(call, call.tensor("input").rank() == 5 ? 5 : 4);
}
Replacement grid_sampler(Builder& b, const OpCall& call) {
  const bool is_volume = call.tensor("input").rank() == 5;
  return one(
      b.call(is_volume ? "aten.grid_sampler_3d.default" : "aten.grid_sampler_2d.default", call.args()));
}

// Half precision is too coarse for positions in an image.
Replacement grid_sampler_2d(Builder& b, const OpCall& call) {
  ScalarType dtype = call.tensor("input").dtype;
  if (!is_half_precision(dtype)) return std::vector<Value*>{};
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  for (std::size_t i = 0; i < 2; ++i) args[i] = to_compute_type(b, call[i].as_value());
  return one(to_dtype(b, b.call("aten.grid_sampler_2d.default", args), dtype));
}

enum class GridPadding : std::uint8_t { Zeros, Border, Reflection };

enum class GridMode : std::uint8_t { Bilinear, Nearest, Bicubic };

// A place that is no number is the first one, where places outside are brought to the edge. Where they are
// not, or not before their neighbors' shares are computed, those shares are NaN.
Replacement grid_without_nan(Builder& b, const OpCall& call) {
  const auto padding = static_cast<GridPadding>(call.integer("padding_mode"));
  const auto mode = static_cast<GridMode>(call.integer("interpolation_mode"));
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  const Term grid = tensor_operand(b, call, "grid");
  if (mode == GridMode::Bicubic || (mode == GridMode::Bilinear && padding == GridPadding::Zeros)) {
    const Term lost = (grid * 0.0).call("aten.sum.dim_IntList", {std::vector<std::int64_t>{-1}});
    Value* read = b.call("aten.grid_sampler_2d.default", args);
    return one(b.call("aten.add.Tensor", {read, lost.call("aten.unsqueeze.default", {1}).value()}));
  }
  if (padding == GridPadding::Zeros) return std::vector<Value*>{};
  const bool is_reflected = padding == GridPadding::Reflection;  // the reflection of an infinity is no number
  args[1] = where(is_reflected ? !(abs(grid) < infinity) : is_nan(grid), -1.0, grid).value();
  return one(b.call("aten.grid_sampler_2d.default", args));
}

// --- volumes, without a kernel in the runtime: elements around a position are read by their flat index

enum class GridSampling : std::uint8_t { Linear, Nearest };  // torch's numbers, like GridPadding's

Term clamped(const Term& place, const Term& last) {
  return min(place.call("aten.clamp.default", {0}), last);
}

// Reflects positions between the edges of the first and last element, or between their centers.
Term reflected(const Term& place, const SymInt& size, const Term& length, bool align_corners) {
  if (align_corners && size == 1) return place * 0;
  const Term span = align_corners ? length - 1 : Formula(length);
  const double low = align_corners ? 0 : -0.5;
  const Term way = abs(place - low);
  const Term turns = floor(way / span);
  const Term rest = way - turns * span;
  return where(turns.call("aten.remainder.Scalar", {2}) == 1, span - rest, rest) + low;
}

// One dimension of the volume.
struct VolumeSide {
  SymInt size;
  Term last;   // the largest coordinate, in the type of the positions
  Term place;  // from 0 to `last`; with padding by zeros also beyond
};

VolumeSide volume_side(Builder& b, const SymInt& size, const Term& coordinate, GridPadding padding,
                       bool align_corners) {
  const Term length(b, size_tensor(b, size, coordinate.dtype()));
  Term place = align_corners ? (coordinate + 1) / 2 * (length - 1) : ((coordinate + 1) * length - 1) / 2;
  if (padding == GridPadding::Reflection) place = reflected(place, size, length, align_corners);
  if (padding != GridPadding::Zeros) place = where(is_nan(place), length - 1, clamped(place, length - 1));
  return {size, length - 1, place};
}

// One of the elements around each position: its integer coordinates, and its weight in the result.
struct VolumeCorner {
  std::vector<Term> coordinates;
  std::optional<Term> share;  // nullopt: the whole weight
};

// Returns the elements around each position, or only the nearest one.
std::vector<VolumeCorner> volume_corners(const std::vector<VolumeSide>& sides, GridSampling sampling) {
  std::vector<VolumeCorner> corners(1);
  for (const VolumeSide& side : sides) {
    if (sampling == GridSampling::Nearest) {
      corners[0].coordinates.push_back(side.place.call("aten.round.default"));
      continue;
    }
    const Term low = floor(side.place);
    const Term beyond = side.place - low;
    std::vector<VolumeCorner> both;
    for (const VolumeCorner& corner : corners) {
      using Weighted = std::pair<Term, Term>;
      for (const auto& [coordinate, share] : {Weighted(low, 1.0 - beyond), Weighted(low + 1, beyond)}) {
        both.push_back(corner);
        both.back().coordinates.push_back(coordinate);
        both.back().share = corner.share ? *corner.share * share : Formula(share);
      }
    }
    corners = std::move(both);
  }
  return corners;
}

// Reads [n, c, places] from `elements`, [n, c, flattened volume]; zero if a coordinate is outside.
Term read_corner(Builder& b, const Term& elements, const std::vector<VolumeSide>& sides,
                 const VolumeCorner& corner) {
  Term number(b, nullptr);
  Term is_inside(b, nullptr);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Term& coordinate = corner.coordinates[i];
    const Term is_here = clamped(coordinate, sides[i].last) == coordinate;  // false for NaN
    const Term whole = where(is_here, coordinate, 0.0).to(ScalarType::I64);
    is_inside = i == 0 ? Formula(is_here) : is_inside & is_here;
    number =
        i == 0 ? Formula(whole) : number * Term(b, size_tensor(b, sides[i].size, ScalarType::I64)) + whole;
  }
  Dims sizes = number.sizes();
  if (sizes.size() == 3) sizes[1] = elements.sizes()[1];
  const Term found =
      elements.call("aten.gather.default", {2, b.call("aten.expand.default", {number.value(), sizes})});
  return where(is_inside, corner.share ? found * *corner.share : Formula(found), 0.0);
}

Replacement grid_sampler_3d(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_grid_sampler_3d(call));
  const std::int64_t mode = call.integer("interpolation_mode");
  const std::int64_t padding = call.integer("padding_mode");
  if (mode < 0 || mode > 1 || padding < 0 || padding > 2)
    return argument_error(
        "grid sampling of a volume supports the modes bilinear and nearest, and padding zeros, border and "
        "reflection");
  const Dims& from = call.tensor("input").sizes;
  const Dims& to = types[0].tensor.sizes;
  const Dims volume(from.begin() + 2, from.end());
  Value* input = to_compute_type(b, call.value("input"));
  const Term elements(b, reshape(b, input, {from[0], from[1], product(volume)}));
  const Term grid(b, to_compute_type(b, call.value("grid")));
  const Dims flat{to[0], 1, product(Dims(to.begin() + 2, to.end()))};
  std::vector<VolumeSide> sides;
  for (std::size_t i = 0; i < volume.size(); ++i) {
    const auto column = static_cast<std::int64_t>(volume.size() - 1 - i);
    const Term coordinate(b, reshape(b, grid.call("aten.select.int", {-1, column}).value(), flat));
    sides.push_back(volume_side(b, volume[i], coordinate, static_cast<GridPadding>(padding),
                                call.boolean("align_corners")));
  }
  std::optional<Term> sum;
  for (const VolumeCorner& corner : volume_corners(sides, static_cast<GridSampling>(mode))) {
    const Term part = read_corner(b, elements, sides, corner);
    sum = sum ? *sum + part : Formula(part);
  }
  return result(call, Term(b, reshape(b, sum->value(), to)));
}

// --- grids: the positions of an image's elements, from -1 to 1, transformed by matrices

Types infer_affine_grid(const OpCall& call) {
  Dims size = as_dims(call["size"]);
  const TensorType& theta = call.tensor("theta");
  if ((size.size() != 4 && size.size() != 5) || theta.rank() != 3) {
    return argument_error("the image has the wrong rank");
  }
  if (!is_floating(theta.dtype)) return type_error("the grid must be floating point");
  Dims sizes{size[0]};
  sizes.insert(sizes.end(), size.begin() + 2, size.end());
  sizes.push_back(static_cast<std::int64_t>(size.size()) - 2);
  return tensor_result(theta.dtype, std::move(sizes));
}

// 2 i / (n - 1) - 1, or for centers of elements (2 i + 1) / n - 1.
Value* grid_line(Builder& b, const SymInt& size, bool align_corners, ScalarType dtype) {
  Value* place = b.call("aten.mul.Tensor", {range(b, size, dtype), 2});
  if (align_corners && size == 1) return b.call("aten.full.default", {Dims{1}, 0, dtype});
  if (!align_corners) place = b.call("aten.add.Tensor", {place, 1});
  Value* length = size_tensor(b, align_corners ? size - 1 : size, dtype);
  return b.call("aten.sub.Tensor", {b.call("aten.div.Tensor", {place, length}), 1});
}

Replacement affine_grid(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_affine_grid(call));
  const Dims& sizes = types[0].tensor.sizes;
  std::size_t count = sizes.size() - 2;
  Dims image(sizes.begin() + 1, sizes.end() - 1);
  ScalarType dtype = compute_type(types[0].tensor.dtype);
  std::vector<Value*> columns;  // x, y, .., 1: last dimension first
  for (std::size_t i = count; i-- > 0;) {
    Value* line = along(b, grid_line(b, image[i], call.boolean("align_corners"), dtype), i, count);
    columns.push_back(b.call("aten.expand.default", {line, image}));
  }
  columns.push_back(b.call("aten.full.default", {image, 1, dtype}));
  Value* places = b.call("aten.stack.default", {columns, -1});
  places = reshape(b, places, {product(image), static_cast<std::int64_t>(count) + 1});
  Value* turned = b.call("aten.transpose.int", {to_compute_type(b, call.value("theta")), 1, 2});
  Value* grid = reshape(b, b.call("aten.matmul.default", {places, turned}), sizes);
  return one(to_dtype(b, grid, types[0].tensor.dtype));
}

}  // namespace

std::span<const OpLine> sampling_ops() {
  static constexpr OpLine lines[] = {
      {"aten.grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
       "align_corners)",
       in_autocast(AutocastF32, accepting("input f32 f64; grid f32 f64", {.flags = Core,
                                                                          .out = "grid_sampler_2d.out",
                                                                          .infer = infer_grid_sampler_2d,
                                                                          .decompose = grid_sampler_2d,
                                                                          .fit = grid_without_nan}))},
      {"aten.grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
       "align_corners)",
       in_autocast(AutocastF32, composite(infer_grid_sampler_3d, grid_sampler_3d))},
      {"aten.grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
       "align_corners)",
       in_autocast(AutocastF32, composite(infer_grid_sampler, grid_sampler))},
      {"aten.affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners)",
       composite(infer_affine_grid, affine_grid)},
  };
  return lines;
}

}  // namespace depute::internal
