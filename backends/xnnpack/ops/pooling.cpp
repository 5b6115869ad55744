// Maximum and average over windows that slide over two dimensions.
#include <algorithm>

#include <fmt/format.h>

#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

// Returns the values for height and width of a list with one or two elements, or `otherwise` if it is empty.
Window::Pair pair_of(const OpCall& call, std::string_view name, Window::Pair otherwise) {
  const std::vector<std::int64_t> numbers = call.ints(name);
  if (numbers.empty()) return otherwise;
  return {static_cast<std::uint32_t>(numbers.front()), static_cast<std::uint32_t>(numbers.back())};
}

// With ceil_mode: rows below and columns to the right by which windows exceed the padded input.
Window::Pair overhang(const Window& w, const Dims& input, const Dims& result) {
  auto reach = [](const SymInt& count, std::uint32_t stride, std::uint32_t kernel, std::uint32_t dilation) {
    return (count.value() - 1) * stride + static_cast<std::int64_t>(kernel - 1) * dilation + 1;
  };
  const std::int64_t rows = reach(result[2], w.stride.height, w.kernel.height, w.dilation.height) -
                            (input[2].value() + w.padding_top + w.padding_bottom);
  const std::int64_t columns = reach(result[3], w.stride.width, w.kernel.width, w.dilation.width) -
                               (input[3].value() + w.padding_left + w.padding_right);
  return {static_cast<std::uint32_t>(std::max<std::int64_t>(rows, 0)),
          static_cast<std::uint32_t>(std::max<std::int64_t>(columns, 0))};
}

Window window_of(const OpCall& call, const Dims& input, const Dims& result, bool has_dilation) {
  Window window;
  window.kernel = pair_of(call, "kernel_size", {1, 1});
  window.stride = pair_of(call, "stride", window.kernel);
  if (has_dilation) window.dilation = pair_of(call, "dilation", {1, 1});
  const Window::Pair padding = pair_of(call, "padding", {0, 0});
  window.padding_top = window.padding_bottom = padding.height;
  window.padding_left = window.padding_right = padding.width;
  if (!call["ceil_mode"].as_bool()) return window;
  const Window::Pair more = overhang(window, input, result);
  window.padding_bottom += more.height;
  window.padding_right += more.width;
  return window;
}

Check check_pooling(const NodeQuery& node) {
  const TensorType& input = node.tensor("self");
  if (node.call["ceil_mode"].as_bool() && (!input.sizes[2].is_constant() || !input.sizes[3].is_constant())) {
    return Refusal{"dynamic-shape", sizes_text(input.sizes), "constant sizes with ceil_mode"};
  }
  const std::vector<std::int64_t> kernel = node.call.ints("kernel_size");
  if (kernel.front() == 1 && kernel.back() == 1)
    return refuse_argument(node, "kernel_size", "more than 1 x 1");
  return {};
}

// Windows whose dilation steps over the whole input hold padding alone, of which XNNPACK's f16 kernels take no
// largest number.
Check check_max_pool(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(check_pooling(node));
  const Dims& sizes = node.tensor("self").sizes;
  const Window window = window_of(node.call, sizes, node.result().sizes, true);
  const auto steps_over = [](const SymInt& size, std::uint32_t dilation, std::uint32_t padding) {
    return padding != 0 && size.is_constant() && size.value() < dilation;
  };
  if (steps_over(sizes[2], window.dilation.height, window.padding_top) ||
      steps_over(sizes[3], window.dilation.width, window.padding_left)) {
    return refuse_argument(node, "dilation", "at most the input's size");
  }
  return {};
}

void max_pool(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const Window window = window_of(call, emit.sizes(x), emit.result_sizes(), true);
  emit.result(emit.add_sized(NodeKind::MaxPooling2d, {x}, emit.result_sizes(), window));
}

// XNNPACK divides by the number of elements inside the tensor. If padding counts (count_include_pad), a
// separate pad node adds it to the tensor.
Check check_avg_pool(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(check_pooling(node));
  const Window window = window_of(node.call, node.tensor("self").sizes, node.result().sizes, false);
  const std::int64_t area = static_cast<std::int64_t>(window.kernel.height) * window.kernel.width;
  if (node.has("divisor_override") && node.call["divisor_override"].as_int() != area) {
    return refuse_argument(node, "divisor_override", fmt::format("none, {}", area));
  }
  const bool is_padded =
      (window.padding_top | window.padding_left | window.padding_bottom | window.padding_right) != 0;
  if (is_padded && node.has("divisor_override")) return refuse_argument(node, "divisor_override", "none");
  return {};
}

void avg_pool(Emitter& emit, const OpCall& call) {
  ValueId x = emit.input(call, "self");
  Window window = window_of(call, emit.sizes(x), emit.result_sizes(), false);
  const std::uint32_t rows = window.padding_top;
  const std::uint32_t columns = window.padding_left;
  if ((rows | columns) != 0 && call["count_include_pad"].as_bool()) {
    Dims padded = emit.sizes(x);
    padded[2] = padded[2] + SymInt(2 * rows);
    padded[3] = padded[3] + SymInt(2 * columns);
    x = emit.add_sized(NodeKind::ConstantPad, {x}, padded,
                       PadWidths{.before = {0, 0, rows, columns}, .after = {0, 0, rows, columns}});
    window.padding_top = window.padding_left = 0;
    window.padding_bottom -= rows;
    window.padding_right -= columns;
  }
  emit.result(emit.add_sized(NodeKind::AvgPooling2d, {x}, emit.result_sizes(), window));
}

// Input sizes must be multiples of output sizes: each result is then the mean of windows of one size.
Check check_adaptive(const NodeQuery& node) {
  const TensorType& input = node.tensor("self");
  const Dims& result = node.result().sizes;
  for (std::size_t dim = 2; dim < 4; ++dim) {
    const bool is_known = input.sizes[dim].is_constant() && result[dim].is_constant() && result[dim] != 0;
    if (is_known && input.sizes[dim].value() % result[dim].value() == 0) continue;
    return refuse_argument(node, "output_size", fmt::format("a divisor of {}", input.sizes[dim].str()));
  }
  return {};
}

void adaptive_avg_pool(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const Dims& from = emit.sizes(x);
  const Dims& to = emit.result_sizes();
  if (to[2] == 1 && to[3] == 1) {
    return emit.result(emit.add_sized(NodeKind::GlobalAvgPooling2d, {x}, to, Axes{{2, 3}}));
  }
  if (from == to) return emit.result(x);
  Window window;
  window.kernel = {static_cast<std::uint32_t>(from[2].value() / to[2].value()),
                   static_cast<std::uint32_t>(from[3].value() / to[3].value())};
  window.stride = window.kernel;
  emit.result(emit.add_sized(NodeKind::AvgPooling2d, {x}, to, window));
}

}  // namespace

std::span<const OpRule> pooling() {
  using namespace limit;
  static constexpr Limit adaptive[] = {ranks("self", 4, 4), ints("output_size"), batch("self")};
  static constexpr Limit average[] = {ranks("self", 4, 4), ints("kernel_size", 1),     ints("stride", 1),
                                      ints("padding", 0),  number("divisor_override"), batch("self")};
  static constexpr Limit largest[] = {ints("dilation", 1),    first_result_alone(), ranks("self", 4, 4),
                                      ints("kernel_size", 1), ints("stride", 1),    ints("padding", 0),
                                      batch("self")};
  static constexpr OpRule rules[] = {
      {.op = "aten._adaptive_avg_pool2d.default",
       .conditions = "output sizes divide the input's",
       .forms = {adaptive},
       .check = check_adaptive,
       .translate = adaptive_avg_pool},
      {.op = "aten.avg_pool2d.default",
       .conditions = "windows larger than 1 x 1; constant sizes with ceil_mode; divisor_override the area",
       .forms = {average},
       .check = check_avg_pool,
       .translate = avg_pool},
      {.op = "aten.max_pool2d.default",
       .conditions = "windows larger than 1 x 1; constant sizes with ceil_mode; dilation within the input",
       .forms = {largest},
       .keep_whole = true,
       .check = check_max_pool,
       .translate = max_pool},
      {.op = "aten.max_pool2d_with_indices.default",
       .conditions = "windows larger than 1 x 1; constant sizes with ceil_mode; dilation within the input",
       .forms = {largest},
       .check = check_max_pool,
       .translate = max_pool},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
