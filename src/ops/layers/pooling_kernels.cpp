// Kernels of pools: the maximum or the mean of each window of an image.
#include <cmath>
#include <limits>

#include "kernels/spatial.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// A tensor as images: the last `rank` dimensions are spatial, all others count images.
struct Images {
  TensorData data;
  Triple sizes{};
  std::size_t count = 0;
  std::size_t rank = 0;

  // Returns the tensor's sizes with other spatial sizes.
  Shape with_sizes(const Triple& spatial) const {
    Shape all = sizes_of(data);
    for (std::size_t i = 0; i < rank; ++i) all[all.size() - rank + i] = spatial[spatial_rank - rank + i];
    return all;
  }
};

Result<Images> read_images(const TensorData& data, std::size_t rank) {
  Shape sizes = sizes_of(data);
  if (sizes.size() < rank + 1) return bad_arguments("the image has no channel dimension");
  Images images{data, last_dims(sizes, rank), 1, rank};
  for (std::size_t i = 0; i + rank < sizes.size(); ++i) images.count *= static_cast<std::size_t>(sizes[i]);
  return images;
}

Result<Window> read_window(const KernelCall& call, std::size_t rank) {
  Window window;
  TRY(window.kernel, window_numbers(call.ints("kernel_size"), rank, 1, 1, {1, 1, 1}));
  TRY(window.stride, window_numbers(call.ints("stride"), rank, 1, 1, window.kernel));
  TRY(window.padding, window_numbers(call.ints("padding"), rank, 0, 0, {0, 0, 0}));
  if (call.has("dilation")) {
    TRY(window.dilation, window_numbers(call.ints("dilation"), rank, 1, 1, {1, 1, 1}));
  }
  for (std::size_t i = 0; i < spatial_rank; ++i) {
    if (window.padding[i] > window.kernel[i] / 2)
      return bad_arguments("the padding must be at most half the window");
  }
  return window;
}

// Calls visit(places) for each window position in order; `places` are the window's elements inside the image.
template <typename Visit>
void for_each_window(const Triple& sizes, const Window& window, const Triple& moves, Visit&& visit) {
  std::vector<std::int64_t> places;
  std::array<std::vector<std::int64_t>, spatial_rank> inside;
  auto find_inside = [&](std::size_t dim, std::int64_t move) {
    inside[dim].clear();
    for (std::int64_t k = 0; k < window.kernel[dim]; ++k) {
      std::int64_t place = move * window.stride[dim] - window.padding[dim] + k * window.dilation[dim];
      if (place >= 0 && place < sizes[dim]) inside[dim].push_back(place);
    }
  };
  for (std::int64_t i = 0; i < moves[0]; ++i) {
    find_inside(0, i);
    for (std::int64_t j = 0; j < moves[1]; ++j) {
      find_inside(1, j);
      for (std::int64_t k = 0; k < moves[2]; ++k) {
        find_inside(2, k);
        places.clear();
        for (std::int64_t z : inside[0]) {
          for (std::int64_t y : inside[1]) {
            for (std::int64_t x : inside[2]) places.push_back((z * sizes[1] + y) * sizes[2] + x);
          }
        }
        visit(Triple{i, j, k}, places);
      }
    }
  }
}

bool has_window_of_padding(const Triple& sizes, const Window& window, const Triple& moves) {
  bool found = false;
  for_each_window(sizes, window, moves, [&](const Triple&, const auto& places) { found |= places.empty(); });
  return found;
}

// Returns the place of the first largest element, or of the last NaN if there is one.
template <typename T>
std::int64_t largest_place(const T* image, const std::vector<std::int64_t>& places) {
  std::int64_t best = places.front();
  for (std::int64_t place : places) {
    if (image[place] > image[best] || image[place] != image[place]) best = place;
  }
  return best;
}

template <typename T>
std::vector<std::int64_t> places_of_max(const Images& images, const Elements<T>& elements,
                                        const Window& window, const Triple& moves) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < images.count; ++i) {
    const T* image = elements.span().data() + i * static_cast<std::size_t>(volume(images.sizes));
    for_each_window(images.sizes, window, moves, [&](const Triple&, const std::vector<std::int64_t>& places) {
      result.push_back(largest_place(image, places));
    });
  }
  return result;
}

template <std::size_t rank>
Contents max_pool_with_indices(const KernelCall& call) {
  TRY(Images images, read_images(call.tensor("self"), rank));
  TRY(Window window, read_window(call, rank));
  TRY(Triple moves,
      window_moves(images.sizes, window, call.boolean("ceil_mode") ? Rounding::Up : Rounding::Down));
  if (volume(images.sizes) == 0) return bad_arguments("the image has no elements");
  if (has_window_of_padding(images.sizes, window, moves))
    return bad_arguments("a window holds no element of the image");
  ScalarType dtype = call.result_type();
  TRY(Domain domain, domain_of(dtype));
  Shape sizes = images.with_sizes(moves);
  return in_domain(domain, [&]<typename T>(T) -> Contents {
    TRY(RuntimeValue values, call.dense(dtype, sizes, [images, window, moves, dtype] {
      Elements<T> elements(images.data);
      std::vector<T> result;
      auto image = static_cast<std::size_t>(volume(images.sizes));
      auto per_image = static_cast<std::size_t>(volume(moves));
      for (std::int64_t place : places_of_max(images, elements, window, moves)) {
        result.push_back(elements[result.size() / per_image * image + static_cast<std::size_t>(place)]);
      }
      return pack<T>(dtype, result);
    }));
    TRY(RuntimeValue indices, call.dense(ScalarType::I64, sizes, [images, window, moves] {
      Elements<T> elements(images.data);
      return pack<std::int64_t>(ScalarType::I64, places_of_max(images, elements, window, moves));
    }));
    return std::vector<RuntimeValue>{std::move(values), std::move(indices)};
  });
}

// Returns the values without the indices.
template <std::size_t rank>
Contents max_pool(const KernelCall& call) {
  TRY(std::vector<RuntimeValue> results, max_pool_with_indices<rank>(call));
  results.pop_back();
  return results;
}

// --- means

// Divisor of the sum over a window.
struct Divisor {
  bool counts_padding = true;
  std::int64_t fixed = 0;  // 0: divide by the number of elements
};

// Counts the elements of a window including padding, but without elements beyond the padding.
std::int64_t padded_count(const Triple& sizes, const Window& window, const Triple& move) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < spatial_rank; ++i) {
    std::int64_t start = move[i] * window.stride[i] - window.padding[i];
    count *= std::min(start + window.kernel[i], sizes[i] + window.padding[i]) - start;
  }
  return count;
}

template <typename T>
double sum_at(const T* image, const std::vector<std::int64_t>& places) {
  double sum = 0;
  for (std::int64_t place : places) sum += static_cast<double>(image[place]);
  return sum;
}

template <std::size_t rank>
Contents avg_pool(const KernelCall& call) {
  TRY(Images images, read_images(call.tensor("self"), rank));
  TRY(Window window, read_window(call, rank));
  TRY(Triple moves,
      window_moves(images.sizes, window, call.boolean("ceil_mode") ? Rounding::Up : Rounding::Down));
  Divisor divisor{call.boolean("count_include_pad"), 0};
  if (call.has("divisor_override") && !call.is_none("divisor_override")) {
    divisor.fixed = call.integer("divisor_override");
    if (divisor.fixed == 0) return bad_arguments("division by zero");
  }
  ScalarType dtype = call.result_type();
  TRY_STATUS(check_arithmetic(dtype));
  return one(call.dense(dtype, images.with_sizes(moves), [images, window, moves, divisor, dtype] {
    Elements<double> elements(images.data);
    std::vector<double> result;
    for (std::size_t i = 0; i < images.count; ++i) {
      const double* image = elements.span().data() + i * static_cast<std::size_t>(volume(images.sizes));
      for_each_window(
          images.sizes, window, moves, [&](const Triple& move, const std::vector<std::int64_t>& places) {
            std::int64_t count = divisor.fixed != 0       ? divisor.fixed
                                 : divisor.counts_padding ? padded_count(images.sizes, window, move)
                                                          : static_cast<std::int64_t>(places.size());
            result.push_back(sum_at(image, places) / static_cast<double>(count));
          });
    }
    return pack<double>(dtype, result);
  }));
}

// Each result is the mean of its section of the image; sections may overlap.
template <std::size_t rank>
Contents adaptive_avg_pool(const KernelCall& call) {
  TRY(Images images, read_images(call.tensor("self"), rank));
  TRY(Triple results, window_numbers(call.ints("output_size"), rank, 1, 0, {1, 1, 1}));
  if (volume(images.sizes) == 0) return bad_arguments("the image has no elements");
  ScalarType dtype = call.result_type();
  TRY_STATUS(check_arithmetic(dtype));
  return one(call.dense(dtype, images.with_sizes(results), [images, results, dtype] {
    Elements<double> elements(images.data);
    std::vector<double> means;
    const Triple& sizes = images.sizes;
    auto first = [&](std::size_t dim, std::int64_t i) { return i * sizes[dim] / results[dim]; };
    auto last = [&](std::size_t dim, std::int64_t i) {
      return ((i + 1) * sizes[dim] + results[dim] - 1) / results[dim];
    };
    std::vector<std::int64_t> places;
    for (std::size_t n = 0; n < images.count; ++n) {
      const double* image = elements.span().data() + n * static_cast<std::size_t>(volume(sizes));
      for (std::int64_t at = 0; at < volume(results); ++at) {
        Triple i = {at / results[2] / results[1], at / results[2] % results[1], at % results[2]};
        places.clear();
        for (std::int64_t z = first(0, i[0]); z < last(0, i[0]); ++z) {
          for (std::int64_t y = first(1, i[1]); y < last(1, i[1]); ++y) {
            for (std::int64_t x = first(2, i[2]); x < last(2, i[2]); ++x) {
              places.push_back((z * sizes[1] + y) * sizes[2] + x);
            }
          }
        }
        means.push_back(sum_at(image, places) / static_cast<double>(places.size()));
      }
    }
    return pack<double>(dtype, means);
  }));
}

}  // namespace

std::span<const KernelLine> pooling_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.max_pool2d_with_indices.default", max_pool_with_indices<2>},
      {"aten.max_pool3d_with_indices.default", max_pool_with_indices<3>},
      {"aten.max_pool1d.default", max_pool<1>},
      {"aten.max_pool2d.default", max_pool<2>},
      {"aten.max_pool3d.default", max_pool<3>},
      {"aten.avg_pool1d.default", avg_pool<1>},
      {"aten.avg_pool2d.default", avg_pool<2>},
      {"aten.avg_pool3d.default", avg_pool<3>},
      {"aten._adaptive_avg_pool2d.default", adaptive_avg_pool<2>},
      {"aten._adaptive_avg_pool3d.default", adaptive_avg_pool<3>},
      {"aten.adaptive_avg_pool1d.default", adaptive_avg_pool<1>},
      {"aten.adaptive_avg_pool2d.default", adaptive_avg_pool<2>},
      {"aten.adaptive_avg_pool3d.default", adaptive_avg_pool<3>},
  };
  return lines;
}

}  // namespace depute::internal
