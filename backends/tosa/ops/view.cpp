// Ops that change the shape of a tensor or the place of its elements.
#include <algorithm>
#include <vector>

#include "emitter.h"
#include "lower/weights/order.h"

namespace depute::tosa::ops {
namespace {

Check reshape(Emitter& emit, const OpCall& call) {
  return emit.result(emit.reshape(emit.input(call, "self"), emit.result_shape()));
}

Check permute(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  Order dims;
  for (const std::int64_t dim : call.ints("dims"))
    dims.push_back(static_cast<std::uint8_t>(dimension_at(dim, x.rank())));
  return emit.result(emit.permute(x, dims));
}

Check transpose(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  Order dims = weights::identity_order(x.rank());
  if (!dims.empty())
    std::swap(dims[dimension(call, "dim0", x.rank())], dims[dimension(call, "dim1", x.rank())]);
  return emit.result(emit.permute(x, dims));
}

Check expand(Emitter& emit, const OpCall& call) {
  return emit.result(emit.expand(emit.input(call, "self"), emit.result_shape()));
}

// Sizes that a tensor is repeated to: those before the tensor's own first.
Check repeat(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const Shape target = emit.result_shape();
  Shape own(target.size() - x.rank(), 1);
  for (const std::int64_t size : x.shape) own.push_back(size);
  const Tensor from = emit.in_rows(emit.reshape(x, own));
  Shape multiples;
  for (std::size_t i = 0; i < target.size(); ++i) multiples.push_back(target[i] / own[i]);
  if (element_count(multiples) == 1) return emit.result(from);
  return emit.result(
      emit.raw(Op::Tile, {from, emit.shape({multiples.data(), multiples.size()})}, x.dtype, target));
}

Check cat(Emitter& emit, const OpCall& call) {
  std::vector<Tensor> parts;
  const Shape target = emit.result_shape();
  for (const Value* part : call.values("tensors")) {
    const Tensor tensor = emit.cast(emit.input(*part), emit.result_dtype());
    // An empty tensor without sizes takes part in a concatenation, and adds nothing.
    if (tensor.rank() == target.size()) parts.push_back(tensor);
  }
  return emit.result(emit.concat(parts, dimension(call, "dim", target.size())));
}

Check stack(Emitter& emit, const OpCall& call) {
  const Shape target = emit.result_shape();
  const std::size_t dim = dimension(call, "dim", target.size());
  Shape one = target;
  one[dim] = 1;
  std::vector<Tensor> parts;
  for (const Value* part : call.values("tensors")) parts.push_back(emit.reshape(emit.input(*part), one));
  return emit.result(emit.concat(parts, dim));
}

// Every step-th of some elements: they are padded to whole steps, of which the first elements are taken.
Tensor with_step(Emitter& emit, const Tensor& x, std::size_t dim, std::int64_t step) {
  if (step == 1) return x;
  const std::int64_t count = (x.shape[dim] + step - 1) / step;
  Tensor whole = x;
  if (const std::int64_t missing = count * step - x.shape[dim]; missing > 0) {
    std::vector<std::int64_t> widths(2 * x.rank(), 0);
    widths[2 * dim + 1] = missing;
    whole = emit.pad(x, widths, 0);
  }
  Shape steps = whole.shape;
  steps[dim] = count;
  Shape split;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    split.push_back(steps[i]);
    if (i == dim) split.push_back(step);
  }
  return emit.reshape(emit.slice(emit.reshape(whole, split), dim + 1, 0, 1), steps);
}

Check slice(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const std::size_t dim = dimension(call, "dim", x.rank());
  const std::int64_t size = x.shape[dim];
  const auto bound = [&](std::string_view name, std::int64_t otherwise) {
    const std::int64_t given = call[name].is_none() ? otherwise : call.integer(name);
    return std::clamp<std::int64_t>(given < 0 ? given + size : given, 0, size);
  };
  const std::int64_t start = bound("start", 0);
  const std::int64_t end = std::max(bound("end", size), start);
  return emit.result(with_step(emit, emit.slice(x, dim, start, end - start), dim, call.integer("step")));
}

Check select(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const std::size_t dim = dimension(call, "dim", x.rank());
  const std::int64_t index = call.integer("index");
  const Tensor one = emit.slice(x, dim, index < 0 ? index + x.shape[dim] : index, 1);
  return emit.result(emit.reshape(one, emit.result_shape()));
}

Check split_with_sizes(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const std::size_t dim = dimension(call, "dim", x.rank());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.node()->results().size(); ++i) {
    const std::int64_t size = call.node()->result(i)->tensor().sizes[dim].value();
    if (size > 0) DEPUTE_REFUSE_IF(emit.result(emit.slice(x, dim, start, size), i));
    start += size;
  }
  return {};
}

Check pad(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const std::vector<std::int64_t> given = call.ints("pad");  // from the last dimension on
  std::vector<std::int64_t> widths(2 * x.rank(), 0);
  Tensor from = x;
  for (std::size_t i = 0; i < given.size() / 2; ++i) {
    const std::size_t dim = x.rank() - 1 - i;
    const std::int64_t before = given[2 * i];
    const std::int64_t after = given[2 * i + 1];
    // Negative widths cut off.
    const std::int64_t start = std::max<std::int64_t>(-before, 0);
    from = emit.slice(from, dim, start, from.shape[dim] - start - std::max<std::int64_t>(-after, 0));
    widths[2 * dim] = std::max<std::int64_t>(before, 0);
    widths[2 * dim + 1] = std::max<std::int64_t>(after, 0);
  }
  if (std::ranges::all_of(widths, [](std::int64_t width) { return width == 0; })) return emit.result(from);
  return emit.result(emit.pad(from, widths, call.number("value")));
}

Tensor reversed(Emitter& emit, const Tensor& x, std::size_t dim) {
  if (x.shape[dim] == 1) return x;
  const Axis axis{static_cast<std::int32_t>(emit.position(x, dim))};
  Shape shape;
  for (const std::uint8_t d : x.order) shape.push_back(x.shape[d]);
  return emit.as(emit.raw(Op::Reverse, {x}, x.dtype, shape, axis), x.order);
}

Check flip(Emitter& emit, const OpCall& call) {
  Tensor x = emit.input(call, "self");
  if (x.rank() == 0) return emit.result(x);
  for (const std::int64_t given : call.ints("dims")) x = reversed(emit, x, dimension_at(given, x.rank()));
  return emit.result(x);
}

// Tensors that continue `x` before its first element along `dim`, and behind its last one.
Tensor mirrored(Emitter& emit, const Tensor& x, std::size_t dim, std::int64_t count, bool is_before) {
  return reversed(emit, emit.slice(x, dim, is_before ? 1 : x.shape[dim] - 1 - count, count), dim);
}

Tensor repeated_edge(Emitter& emit, const Tensor& x, std::size_t dim, std::int64_t count, bool is_before) {
  Shape shape = x.shape;
  shape[dim] = count;
  return emit.expand(emit.slice(x, dim, is_before ? 0 : x.shape[dim] - 1, 1), shape);
}

// Negative widths cut off.
template <Tensor (*continuation)(Emitter&, const Tensor&, std::size_t, std::int64_t, bool)>
Check pad_with(Emitter& emit, const OpCall& call) {
  Tensor x = emit.input(call, "self");
  const std::vector<std::int64_t> widths = call.ints("padding");  // from the last dimension on
  for (std::size_t i = 0; i < widths.size() / 2; ++i) {
    const std::size_t dim = x.rank() - 1 - i;
    const std::int64_t before = widths[2 * i];
    const std::int64_t after = widths[2 * i + 1];
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(continuation(emit, x, dim, before, true));
    const std::int64_t start = std::max<std::int64_t>(-before, 0);
    parts.push_back(emit.slice(x, dim, start, x.shape[dim] - start - std::max<std::int64_t>(-after, 0)));
    if (after > 0) parts.push_back(continuation(emit, x, dim, after, false));
    x = emit.concat(parts, dim);
  }
  return emit.result(x);
}

// [N, C, r, r, H, W] -> [N, C, H, r, W, r]
Check pixel_shuffle(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const std::int64_t factor = call.integer("upscale_factor");
  const std::size_t at = x.rank() - 3;
  const std::int64_t images = element_count(x.shape) / x.shape[at] / x.shape[at + 1] / x.shape[at + 2];
  const Shape split = {images,         x.shape[at] / factor / factor, factor, factor, x.shape[at + 1],
                       x.shape[at + 2]};
  return emit.result(
      emit.reshape(emit.permute(emit.reshape(x, split), {0, 1, 4, 2, 5, 3}), emit.result_shape()));
}

// [N, C, H, r, W, r] -> [N, C, r, r, H, W]
Check pixel_unshuffle(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const std::int64_t factor = call.integer("downscale_factor");
  const std::size_t at = x.rank() - 3;
  const std::int64_t images = element_count(x.shape) / x.shape[at] / x.shape[at + 1] / x.shape[at + 2];
  const Shape split = {images, x.shape[at], x.shape[at + 1] / factor, factor, x.shape[at + 2] / factor,
                       factor};
  return emit.result(
      emit.reshape(emit.permute(emit.reshape(x, split), {0, 1, 3, 5, 2, 4}), emit.result_shape()));
}

// The tensor with a part of it replaced: what is before the part, the part, what is behind.
Tensor with_part(Emitter& emit, const Tensor& x, const Tensor& part, std::size_t dim, std::int64_t start) {
  const std::int64_t end = start + part.shape[dim];
  std::vector<Tensor> parts;
  if (start > 0) parts.push_back(emit.slice(x, dim, 0, start));
  parts.push_back(part);
  if (end < x.shape[dim]) parts.push_back(emit.slice(x, dim, end, x.shape[dim] - end));
  return emit.concat(parts, dim);
}

Check select_scatter(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const std::size_t dim = dimension(call, "dim", x.rank());
  const std::int64_t index = call.integer("index");
  Shape one = x.shape;
  one[dim] = 1;
  const Tensor part = emit.reshape(emit.input(call, "src"), one);
  return emit.result(with_part(emit, x, part, dim, index < 0 ? index + x.shape[dim] : index));
}

Check slice_scatter(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const Tensor part = emit.input(call, "src");
  const std::size_t dim = dimension(call, "dim", x.rank());
  const std::int64_t given = call["start"].is_none() ? 0 : call.integer("start");
  const std::int64_t start =
      std::clamp<std::int64_t>(given < 0 ? given + x.shape[dim] : given, 0, x.shape[dim]);
  const std::int64_t step = call.integer("step");
  if (part.shape[dim] == 1 || step == 1) return emit.result(with_part(emit, x, part, dim, start));
  if (x.shape[dim] > static_cast<std::int64_t>(max_list))
    return refuse_argument(call, "step", "1 along a dimension of more than 64 elements");
  std::vector<Tensor> parts;
  std::int64_t taken = 0;
  for (std::int64_t i = 0; i < x.shape[dim]; ++i) {
    const bool is_new = i >= start && (i - start) % step == 0 && taken < part.shape[dim];
    parts.push_back(is_new ? emit.slice(part, dim, taken++, 1) : emit.slice(x, dim, i, 1));
  }
  return emit.result(emit.concat(parts, dim));
}

// Tensors are dense here: other strides would read elements twice, or leave some out.
Check as_strided(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const Shape shape = emit.result_shape();
  const std::vector<std::int64_t> strides = call.ints("stride");
  std::int64_t dense = 1;
  for (std::size_t i = shape.size(); i-- > 0; dense *= shape[i]) {
    if (shape[i] > 1 && strides[i] != dense)
      return refuse_argument(call, "stride", "those of a dense tensor");
  }
  if (!call["storage_offset"].is_none() && call.integer("storage_offset") != 0)
    return refuse_argument(call, "storage_offset", "0");
  if (dense != element_count(x.shape)) return refuse_argument(call, "size", "all elements");
  return emit.result(emit.reshape(emit.in_rows(x), shape));
}

}  // namespace

std::span<const OpRule> view() {
  constexpr OpClass move = OpClass::Move;
  constexpr IntegerForm same = IntegerForm::SameScale;
  static constexpr OpRule rules[] = {
      {.op = "aten.as_strided.default",
       .conditions = "the strides of a dense tensor",
       .translate = as_strided,
       .integers = same},
      {.op = "aten.cat.default", .translate = cat, .integers = same},
      {.op = "aten.constant_pad_nd.default", .translate = pad, .integers = same},
      {.op = "aten.expand.default", .translate = expand, .integers = same},
      {.op = "aten.flip.default", .translate = flip, .integers = same},
      {.op = "aten.permute.default", .translate = permute, .integers = same},
      {.op = "aten.pixel_shuffle.default", .translate = pixel_shuffle, .integers = same},
      {.op = "aten.pixel_unshuffle.default", .translate = pixel_unshuffle, .integers = same},
      {.op = "aten.reflection_pad1d.default", .translate = pad_with<mirrored>, .integers = same},
      {.op = "aten.reflection_pad2d.default", .translate = pad_with<mirrored>, .integers = same},
      {.op = "aten.reflection_pad3d.default", .translate = pad_with<mirrored>, .integers = same},
      {.op = "aten.repeat.default", .translate = repeat, .integers = same},
      {.op = "aten.replication_pad1d.default", .translate = pad_with<repeated_edge>, .integers = same},
      {.op = "aten.replication_pad2d.default", .translate = pad_with<repeated_edge>, .integers = same},
      {.op = "aten.replication_pad3d.default", .translate = pad_with<repeated_edge>, .integers = same},
      {.op = "aten.select.int", .translate = select, .integers = same},
      {.op = "aten.select_scatter.default", .translate = select_scatter, .integers = same},
      {.op = "aten.slice.Tensor", .translate = slice, .integers = same},
      {.op = "aten.slice_scatter.default",
       .conditions = "step 1, or at most 64 elements",
       .translate = slice_scatter,
       .integers = same},
      {.op = "aten.split_with_sizes.default", .translate = split_with_sizes, .integers = same},
      {.op = "aten.squeeze.dims", .op_class = move, .translate = reshape, .integers = same},
      {.op = "aten.stack.default", .translate = stack, .integers = same},
      {.op = "aten.transpose.int", .translate = transpose, .integers = same},
      {.op = "aten.unsqueeze.default", .op_class = move, .translate = reshape, .integers = same},
      {.op = "aten.view.default", .op_class = move, .translate = reshape, .integers = same},
  };
  return rules;
}

}  // namespace depute::tosa::ops
