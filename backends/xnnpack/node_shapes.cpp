#include "node_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "graph.h"
#include "node_text.h"
#include "payload/read_payload.h"

namespace depute::xnnpack {
namespace {

// Sizes of any node's result, without an allocation.
struct Sizes {
  std::array<std::uint64_t, 8> dims;  // rank 6 at most, because lists are no longer than the operands' ranks
  std::size_t rank = 0;

  Sizes() = default;
  Sizes(Shape shape) : rank(shape.size()) { std::ranges::copy(shape, dims.begin()); }
  Sizes(std::initializer_list<std::uint64_t> sizes) : rank(sizes.size()) {
    std::ranges::copy(sizes, dims.begin());
  }
  std::uint64_t& operator[](std::size_t i) { return dims[i]; }
  std::uint64_t& last() { return dims[rank - 1]; }
};

// Sizes of the result, or a fault of the inputs.
struct Outcome {
  Sizes sizes;
  std::string fault;
  bool is_always = false;  // the fault does not depend on the values of sizes

  Outcome(Sizes of) : sizes(of) {}
  Outcome(std::string text) : fault(std::move(text)) {}
};

Outcome always_wrong(std::string text) {
  Outcome outcome(std::move(text));
  outcome.is_always = true;
  return outcome;
}

std::uint64_t product(Shape shape) {
  std::uint64_t elements = 1;
  for (std::uint32_t size : shape) elements *= size;
  return elements;
}

Outcome broadcast(Shape left, Shape right) {
  if (left.size() < right.size()) std::swap(left, right);
  Sizes sizes(left);
  const std::size_t skipped = left.size() - right.size();
  for (std::size_t i = 0; i < right.size(); ++i) {
    std::uint64_t& size = sizes[skipped + i];
    if (size != right[i] && size != 1 && right[i] != 1) return std::string("its operands do not broadcast");
    size = std::max<std::uint64_t>(size, right[i]);
  }
  return sizes;
}

// Number of window positions in a padded size.
std::optional<std::uint64_t> steps(std::uint64_t size, std::uint64_t kernel, std::uint64_t dilation,
                                   std::uint64_t stride) {
  const std::uint64_t reach = (kernel - 1) * dilation + 1;
  if (size < reach) return std::nullopt;
  return (size - reach) / stride + 1;
}

template <typename Table>
std::string window_fault(const Table& node, Shape input) {
  if (input.size() != 4) return fmt::format("got {} dimensions; expected 4", input.size());
  const bool is_empty = node.kernel_height() == 0 || node.kernel_width() == 0 || node.stride_height() == 0 ||
                        node.stride_width() == 0 || node.dilation_height() == 0 || node.dilation_width() == 0;
  return is_empty ? "a window size is 0" : "";
}

template <typename Table>
Outcome slide(const Table& node, Shape input, std::uint64_t channels) {
  const auto height = steps(std::uint64_t{input[1]} + node.padding_top() + node.padding_bottom(),
                            node.kernel_height(), node.dilation_height(), node.stride_height());
  const auto width = steps(std::uint64_t{input[2]} + node.padding_left() + node.padding_right(),
                           node.kernel_width(), node.dilation_width(), node.stride_width());
  if (!height || !width) return std::string("its window is larger than the padded input");
  return Sizes{input[0], *height, *width, channels};
}

// Size that the windows of a transposed convolution cover, without the padding that is cut off.
std::uint64_t spread(std::uint64_t size, std::uint64_t stride, std::uint64_t kernel, std::uint64_t dilation,
                     std::uint64_t adjustment, std::uint64_t padding) {
  const std::uint64_t whole = (size - 1) * stride + (kernel - 1) * dilation + 1 + adjustment;
  return whole > padding ? whole - padding : 0;
}

struct ResultSizes {
  wire::NodeUnion kind;
  std::span<const Shape> in;

  Outcome operator()(const wire::Unary& node) const {
    if (kind == wire::NodeUnion::Softmax && in[0].empty())
      return always_wrong("softmax requires rank 1 or more");
    Sizes sizes(in[0]);
    if (kind != wire::NodeUnion::GlobalAvgPooling2d) return sizes;
    if (sizes.rank < 3) return always_wrong(fmt::format("got {} dimensions; expected 3 or more", sizes.rank));
    if ((node.flags() & keep_dims) != 0) {
      sizes[sizes.rank - 3] = sizes[sizes.rank - 2] = 1;
      return sizes;
    }
    sizes[sizes.rank - 3] = sizes.last();
    sizes.rank -= 2;
    return sizes;
  }
  Outcome operator()(const wire::Leaky&) const { return Sizes(in[0]); }
  Outcome operator()(const wire::Elu&) const { return Sizes(in[0]); }

  Outcome operator()(const wire::Binary& node) const {
    if (kind != wire::NodeUnion::BatchMatrixMultiply) return broadcast(in[0], in[1]);
    if (in[0].size() < 2 || in[1].size() < 2) return always_wrong("its operands must have rank 2 or more");
    const Shape left = in[0].last(2);
    Shape right = in[1].last(2);
    const bool is_turned = (node.flags() & transpose_weights) != 0;
    if (left[1] != right[is_turned ? 1 : 0]) return std::string("the inner sizes of its matrices differ");
    Outcome batch = broadcast(in[0].first(in[0].size() - 2), in[1].first(in[1].size() - 2));
    if (!batch.fault.empty()) return batch;
    batch.sizes[batch.sizes.rank] = left[0];
    batch.sizes[batch.sizes.rank + 1] = right[is_turned ? 0 : 1];
    batch.sizes.rank += 2;
    return batch;
  }

  std::string bias_fault(std::uint64_t channels) const {
    const bool fits = in[2].empty() || (in[2].size() == 1 && in[2][0] == channels);
    return fits ? "" : fmt::format("its bias has the shape {}; expected [{}]", numbers_text(in[2]), channels);
  }

  Outcome operator()(const wire::FullyConnected& node) const {
    if (in[0].empty() || in[1].size() != 2)
      return always_wrong("its filter must have rank 2, and its input rank 1 or more");
    const bool is_turned = (node.flags() & transpose_weights) != 0;
    const std::uint32_t channels = in[1][is_turned ? 1 : 0];
    if (in[0].back() != in[1][is_turned ? 0 : 1])
      return fmt::format("rows of {} do not match a filter of {}", in[0].back(), numbers_text(in[1]));
    if (std::string fault = bias_fault(channels); !fault.empty()) return fault;
    Sizes sizes(in[0]);
    sizes.last() = channels;
    return sizes;
  }

  Outcome operator()(const wire::Convolution& node) const {
    if (std::string fault = window_fault(node, in[0]); !fault.empty()) return fault;
    if (node.groups() == 0 || node.group_input_channels() == 0 || node.group_output_channels() == 0)
      return always_wrong("it has no groups or channels");
    const std::uint64_t inputs = std::uint64_t{node.groups()} * node.group_input_channels();
    const std::uint64_t outputs = std::uint64_t{node.groups()} * node.group_output_channels();
    if (inputs != in[0][3]) return fmt::format("got {} input channels; expected {}", in[0][3], inputs);
    const bool is_depthwise = kind == wire::NodeUnion::DepthwiseConv2d;
    if (is_depthwise && node.group_input_channels() != 1)
      return always_wrong(fmt::format("got {} channels per group; expected 1", node.group_input_channels()));
    Sizes filter{outputs, node.kernel_height(), node.kernel_width(), node.group_input_channels()};
    if (is_depthwise) filter = Sizes{1, node.kernel_height(), node.kernel_width(), outputs};
    if (in[1].size() != 4 || !std::ranges::equal(in[1], std::span(filter.dims).first(4)))
      return fmt::format("its filter of {} does not match its window and channels", numbers_text(in[1]));
    if (std::string fault = bias_fault(outputs); !fault.empty()) return fault;
    if (kind == wire::NodeUnion::ConvTranspose2d) return transposed(node, outputs);
    if (node.adjustment_height() != 0 || node.adjustment_width() != 0)
      return always_wrong("an adjustment that the runtime ignores");
    return slide(node, in[0], outputs);
  }

  Outcome transposed(const wire::Convolution& node, std::uint64_t channels) const {
    const std::uint64_t height =
        spread(in[0][1], node.stride_height(), node.kernel_height(), node.dilation_height(),
               node.adjustment_height(), std::uint64_t{node.padding_top()} + node.padding_bottom());
    const std::uint64_t width =
        spread(in[0][2], node.stride_width(), node.kernel_width(), node.dilation_width(),
               node.adjustment_width(), std::uint64_t{node.padding_left()} + node.padding_right());
    return Sizes{in[0][0], height, width, channels};
  }

  Outcome operator()(const wire::Pooling& node) const {
    if (std::string fault = window_fault(node, in[0]); !fault.empty()) return fault;
    const bool is_dilated = node.dilation_height() != 1 || node.dilation_width() != 1;
    if (kind == wire::NodeUnion::AvgPooling2d && is_dilated)
      return always_wrong("a dilation that the runtime ignores");
    return slide(node, in[0], in[0][3]);
  }

  Outcome operator()(const wire::ResizeBilinear& node) const {
    if (in[0].size() != 4) return always_wrong(fmt::format("got {} dimensions; expected 4", in[0].size()));
    constexpr std::uint32_t limit = 1U << 24;
    if (node.height() == 0 || node.width() == 0 || node.height() >= limit || node.width() >= limit)
      return always_wrong(fmt::format("the size {}x{} is out of range", node.height(), node.width()));
    return Sizes{in[0][0], node.height(), node.width(), in[0][3]};
  }

  Outcome operator()(const wire::Transpose& node) const {
    const Shape order = numbers(node.perm());
    if (order.empty() || order.size() != in[0].size() || node.rank() != order.size())
      return always_wrong("the permutation must have one entry per dimension");
    Sizes sizes(in[0]);
    std::uint32_t seen = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] >= order.size() || (seen & (1U << order[i])) != 0)
        return always_wrong(fmt::format("{} is not a permutation", numbers_text(order)));
      seen |= 1U << order[i];
      sizes[i] = in[0][order[i]];
    }
    return sizes;
  }

  Outcome operator()(const wire::Reshape& node) const {
    const Shape shape = numbers(node.shape());
    if (node.rank() != shape.size() || shape.size() > 6) return always_wrong("the shape has the wrong rank");
    if (std::ranges::count(shape, 0U) > 1) return always_wrong("more than one size is inferred");
    Sizes sizes(shape);
    std::uint64_t known = 1;
    for (std::uint32_t size : shape) known *= size == 0 ? 1 : size;
    const std::uint64_t elements = product(in[0]);
    for (std::size_t i = 0; i < sizes.rank; ++i) {
      if (sizes[i] == 0) sizes[i] = elements / known;
    }
    const bool is_open = std::ranges::count(shape, 0U) == 1;
    if (is_open ? elements % known != 0 : elements != known)
      return fmt::format("{} elements do not match {}", elements, numbers_text(shape));
    return sizes;
  }

  Outcome operator()(const wire::ConstantPad& node) const {
    const Shape before = numbers(node.before());
    const Shape after = numbers(node.after());
    if (before.size() != in[0].size() || after.size() != in[0].size())
      return always_wrong("the padding must have one entry per dimension");
    Sizes sizes(in[0]);
    for (std::size_t i = 0; i < sizes.rank; ++i) sizes[i] += std::uint64_t{before[i]} + after[i];
    return sizes;
  }

  Outcome operator()(const wire::Slice& node) const {
    const Shape offsets = numbers(node.offsets());
    const Shape extents = numbers(node.sizes());
    if (offsets.size() != in[0].size() || extents.size() != in[0].size() || node.rank() != in[0].size())
      return always_wrong("the slice must have one entry per dimension");
    Sizes sizes(in[0]);
    for (std::size_t i = 0; i < sizes.rank; ++i) {
      if (extents[i] == 0 && offsets[i] == 0) continue;
      if (extents[i] == 0 || std::uint64_t{offsets[i]} + extents[i] > in[0][i])
        return fmt::format("{} elements from index {} exceed size {}", extents[i], offsets[i], in[0][i]);
      sizes[i] = extents[i];
    }
    return sizes;
  }

  Outcome operator()(const wire::Concat& node) const {
    if (node.axis() >= in[0].size())
      return always_wrong(fmt::format("axis {} is out of range for rank {}", node.axis(), in[0].size()));
    Sizes sizes(in[0]);
    for (Shape next : in.subspan(1)) {
      if (next.size() != in[0].size()) return always_wrong("its operands have different ranks");
      for (std::size_t i = 0; i < next.size(); ++i) {
        if (i != node.axis() && next[i] != in[0][i]) return std::string("its operands have different sizes");
      }
      sizes[node.axis()] += next[node.axis()];
    }
    return sizes;
  }

  Outcome operator()(const wire::ArgMaxPooling&) const {
    return always_wrong("a node kind that Depute does not write");
  }
  Outcome operator()(const wire::Attention&) const {
    return always_wrong("a node kind that Depute does not write");
  }
};

}  // namespace

std::string shape_fault(const wire::Node& node, std::span<const Shape> inputs, Shape output, bool varies) {
  std::optional<Outcome> outcome;
  visit_body(node, [&](const auto& table) { outcome.emplace(ResultSizes{node.node_type(), inputs}(table)); });
  if (!outcome) return "an unknown node kind";
  if (!outcome->fault.empty()) return varies && !outcome->is_always ? "" : outcome->fault;
  const std::span<const std::uint64_t> sizes = std::span(outcome->sizes.dims).first(outcome->sizes.rank);
  if (sizes.size() == output.size() && (varies || std::ranges::equal(sizes, output))) return {};
  return fmt::format("its result has the shape [{}], but {} is declared", fmt::join(sizes, ", "),
                     numbers_text(output));
}

}  // namespace depute::xnnpack
