// Kernels of convolutions with one to three spatial dimensions, with groups, and transposed.
#include <algorithm>

#include "kernels/products.h"
#include "kernels/spatial.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// With fewer output channels in a group, copying the windows takes longer than the products.
constexpr std::int64_t least_outputs_in_tiles = 4;

struct Convolution {
  TensorData input;
  TensorData weight;
  std::optional<TensorData> bias;
  Window window;
  Triple input_sizes{};
  Triple output_sizes{};
  std::int64_t batch = 0;
  std::int64_t groups = 1;
  std::int64_t inputs = 0;   // input channels per group
  std::int64_t outputs = 0;  // output channels per group
  bool is_transposed = false;
};

Result<Window> read_window(const KernelCall& call, const Triple& kernel, std::size_t rank) {
  Window window;
  window.kernel = kernel;
  TRY(window.stride, window_numbers(call.ints("stride"), rank, 1, 1, {1, 1, 1}));
  TRY(window.padding, window_numbers(call.ints("padding"), rank, 0, 0, {0, 0, 0}));
  TRY(window.dilation, window_numbers(call.ints("dilation"), rank, 1, 1, {1, 1, 1}));
  return window;
}

Result<Triple> transposed_sizes(const KernelCall& call, const Convolution& c, std::size_t rank) {
  TRY(Triple more, window_numbers(call.ints("output_padding"), rank, 0, 0, {0, 0, 0}));
  Triple sizes{};
  for (std::size_t i = 0; i < spatial_rank; ++i) {
    sizes[i] = (c.input_sizes[i] - 1) * c.window.stride[i] - 2 * c.window.padding[i] +
               c.window.dilation[i] * (c.window.kernel[i] - 1) + more[i] + 1;
    if (sizes[i] < 1) return bad_arguments("a convolution without results");
  }
  return sizes;
}

Result<Convolution> read_convolution(const KernelCall& call) {
  Convolution c;
  c.input = call.tensor("input");
  c.weight = call.tensor("weight");
  c.bias = call.optional_tensor("bias");
  c.is_transposed = call.boolean("transposed");
  c.groups = call.integer("groups");
  Shape sizes = sizes_of(c.input);
  Shape weight = sizes_of(c.weight);
  if (sizes.size() < 3 || sizes.size() > 5 || weight.size() != sizes.size()) {
    return bad_arguments("a convolution requires a batch, channels and one to three spatial dimensions");
  }
  std::size_t rank = sizes.size() - 2;
  if (c.groups < 1 || sizes[1] % c.groups != 0 || weight[0] % c.groups != 0) {
    return bad_arguments("the number of channels must be a multiple of the groups");
  }
  c.batch = sizes[0];
  c.inputs = sizes[1] / c.groups;
  c.outputs = c.is_transposed ? weight[1] : weight[0] / c.groups;
  std::int64_t expected = c.is_transposed ? weight[0] / c.groups : weight[1];
  if (expected != c.inputs) return bad_arguments("the weight does not match the input's channels");
  if (c.bias && sizes_of(*c.bias) != Shape{c.outputs * c.groups}) {
    return bad_arguments("the bias does not match the output's channels");
  }
  c.input_sizes = last_dims(sizes, rank);
  TRY(c.window, read_window(call, last_dims(weight, rank), rank));
  if (c.is_transposed) {
    TRY(c.output_sizes, transposed_sizes(call, c, rank));
  } else {
    TRY(c.output_sizes, window_moves(c.input_sizes, c.window, Rounding::Down));
  }
  return c;
}

// The window positions for which element `k` of the window lies inside `size` elements: [first, last).
struct Moves {
  std::int64_t first;
  std::int64_t last;
  std::int64_t start;  // index of the element at position 0
};

Moves moves_inside(const Window& window, std::size_t dim, std::int64_t k, std::int64_t moves,
                   std::int64_t size) {
  std::int64_t stride = window.stride[dim];
  std::int64_t start = k * window.dilation[dim] - window.padding[dim];
  std::int64_t first = start >= 0 ? 0 : (-start + stride - 1) / stride;
  std::int64_t last = start >= size ? 0 : std::min(moves, (size - 1 - start) / stride + 1);
  return {first, std::max(first, last), start};
}

// Calls visit(move, place, count) for rows of window positions with the window's element (z, y, x) inside.
// `move` and `place` are flat indices of the first position and its element; later ones advance by 1 and by
// the stride.
template <typename Visit>
void for_each_move(const Window& window, const Triple& moves, const Triple& sizes, const Triple& at,
                   Visit&& visit) {
  Moves z = moves_inside(window, 0, at[0], moves[0], sizes[0]);
  Moves y = moves_inside(window, 1, at[1], moves[1], sizes[1]);
  Moves x = moves_inside(window, 2, at[2], moves[2], sizes[2]);
  for (std::int64_t i = z.first; i < z.last; ++i) {
    for (std::int64_t j = y.first; j < y.last; ++j) {
      std::int64_t move = (i * moves[1] + j) * moves[2] + x.first;
      std::int64_t row = (z.start + i * window.stride[0]) * sizes[1] + y.start + j * window.stride[1];
      visit(move, row * sizes[2] + x.start + x.first * window.stride[2], x.last - x.first);
    }
  }
}

// Adds the contribution of one input channel to one output channel. A convolution moves over its output and
// reads its input; a transposed one moves over its input.
template <typename T>
void add_channel(const Convolution& c, const T* input, const T* kernel, Sum<T>* output) {
  const Triple& moves = c.is_transposed ? c.input_sizes : c.output_sizes;
  const Triple& sizes = c.is_transposed ? c.output_sizes : c.input_sizes;
  std::int64_t stride = c.window.stride[2];
  for (std::int64_t z = 0; z < c.window.kernel[0]; ++z) {
    for (std::int64_t y = 0; y < c.window.kernel[1]; ++y) {
      for (std::int64_t x = 0; x < c.window.kernel[2]; ++x) {
        auto factor = static_cast<Sum<T>>(*kernel++);
        for_each_move(c.window, moves, sizes, {z, y, x},
                      [&](std::int64_t move, std::int64_t place, std::int64_t n) {
                        const T* from = input + (c.is_transposed ? move : place);
                        Sum<T>* to = output + (c.is_transposed ? place : move);
                        std::int64_t from_step = c.is_transposed ? 1 : stride;
                        std::int64_t to_step = c.is_transposed ? stride : 1;
                        for (std::int64_t i = 0; i < n; ++i) {
                          Sum<T>& sum = to[i * to_step];
                          sum = wrap_add(sum, wrap_mul(factor, static_cast<Sum<T>>(from[i * from_step])));
                        }
                      });
      }
    }
  }
}

// The elements that the windows of some output positions see, one column a position: as the right matrix of a product with the weight.
// `first` is the flat index of the first position.
void copy_windows(const Convolution& c, const float* input, std::int64_t first, std::size_t count,
                  std::vector<double>& tile) {
  std::ranges::fill(tile, 0);
  const std::int64_t in_volume = volume(c.input_sizes);
  const Triple& moves = c.output_sizes;
  for (std::size_t column = 0; column < count; ++column) {
    const std::int64_t position = first + static_cast<std::int64_t>(column);
    const Triple at = {position / (moves[1] * moves[2]), position / moves[2] % moves[1], position % moves[2]};
    Triple start{};
    for (std::size_t i = 0; i < spatial_rank; ++i)
      start[i] = at[i] * c.window.stride[i] - c.window.padding[i];
    double* to = tile.data() + column;
    for (std::int64_t channel = 0; channel < c.inputs; ++channel) {
      const float* image = input + channel * in_volume;
      for (std::int64_t z = 0; z < c.window.kernel[0]; ++z) {
        const std::int64_t plane = start[0] + z * c.window.dilation[0];
        for (std::int64_t y = 0; y < c.window.kernel[1]; ++y) {
          const std::int64_t row = start[1] + y * c.window.dilation[1];
          const bool is_inside = plane >= 0 && plane < c.input_sizes[0] && row >= 0 && row < c.input_sizes[1];
          const float* line =
              is_inside ? image + (plane * c.input_sizes[1] + row) * c.input_sizes[2] : nullptr;
          for (std::int64_t x = 0; x < c.window.kernel[2]; ++x, to += tile_columns) {
            const std::int64_t place = start[2] + x * c.window.dilation[2];
            if (line != nullptr && place >= 0 && place < c.input_sizes[2])
              *to = static_cast<double>(line[place]);
          }
        }
      }
    }
  }
}

// Adds the images of one group's outputs, a tile of positions at a time.
void add_group(const Convolution& c, const float* input, const float* weight, double* output,
               std::vector<double>& tile) {
  const std::int64_t positions = volume(c.output_sizes);
  const std::int64_t inner = c.inputs * volume(c.window.kernel);
  tile.resize(static_cast<std::size_t>(inner) * tile_columns);
  for (std::int64_t first = 0; first < positions; first += std::int64_t{tile_columns}) {
    const auto count = std::min(tile_columns, static_cast<std::size_t>(positions - first));
    copy_windows(c, input, first, count, tile);
    add_products({.a = weight,
                  .rows = static_cast<std::size_t>(c.outputs),
                  .inner = static_cast<std::size_t>(inner),
                  .tile = tile.data(),
                  .out = output + first,
                  .out_stride = static_cast<std::size_t>(positions),
                  .columns = count});
  }
}

template <typename T>
std::vector<std::byte> convolve(const Convolution& c, ScalarType dtype) {
  Elements<T> input(c.input);
  Elements<T> weight(c.weight);
  std::vector<T> bias(static_cast<std::size_t>(c.groups * c.outputs), 0);
  if (c.bias) std::ranges::copy(Elements<T>(*c.bias), bias.begin());
  std::int64_t in_volume = volume(c.input_sizes);
  std::int64_t out_volume = volume(c.output_sizes);
  std::int64_t kernel_volume = volume(c.window.kernel);
  std::vector<Sum<T>> sums(static_cast<std::size_t>(c.batch * c.groups * c.outputs * out_volume));
  Sum<T>* output = sums.data();
  for (std::int64_t image = 0; image < c.batch * c.groups * c.outputs; ++image)
    std::fill_n(output + image * out_volume, out_volume,
                static_cast<Sum<T>>(bias[static_cast<std::size_t>(image % (c.groups * c.outputs))]));
  if constexpr (std::is_same_v<T, float>) {
    if (!c.is_transposed && c.outputs >= least_outputs_in_tiles && c.inputs > 0) {
      std::vector<double> tile;
      for (std::int64_t group = 0; group < c.batch * c.groups; ++group)
        add_group(c, input.span().data() + group * c.inputs * in_volume,
                  weight.span().data() + group % c.groups * c.outputs * c.inputs * kernel_volume,
                  output + group * c.outputs * out_volume, tile);
      return pack<Sum<T>>(dtype, sums);
    }
  }
  for (std::int64_t n = 0; n < c.batch; ++n) {
    for (std::int64_t channel = 0; channel < c.groups * c.outputs; ++channel, output += out_volume) {
      std::int64_t group = channel / c.outputs;
      for (std::int64_t i = 0; i < c.inputs; ++i) {
        std::int64_t in_channel = group * c.inputs + i;
        std::int64_t kernel =
            c.is_transposed ? in_channel * c.outputs + channel % c.outputs : channel * c.inputs + i;
        add_channel<T>(c, input.span().data() + (n * c.groups * c.inputs + in_channel) * in_volume,
                       weight.span().data() + kernel * kernel_volume, output);
      }
    }
  }
  return pack<Sum<T>>(dtype, sums);
}

Contents convolution(const KernelCall& call) {
  TRY(Convolution c, read_convolution(call));
  ScalarType dtype = call.result_type();
  TRY(Domain domain, domain_of(dtype));
  std::size_t rank = c.input.type.rank() - 2;
  Shape sizes = {c.batch, c.groups * c.outputs};
  sizes.insert(sizes.end(), c.output_sizes.end() - static_cast<std::ptrdiff_t>(rank), c.output_sizes.end());
  return in_domain(domain, [&]<typename T>(T) {
    return one(call.dense(dtype, sizes, [c, dtype] { return convolve<T>(c, dtype); }));
  });
}

}  // namespace

std::span<const KernelLine> convolution_kernels() {
  static constexpr KernelLine lines[] = {{"aten.convolution.default", convolution}};
  return lines;
}

}  // namespace depute::internal
