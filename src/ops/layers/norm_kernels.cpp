// Kernels of normalizations: (x - mean) / deviation over a layer, a group or a batch.
#include <algorithm>
#include <cmath>

#include "kernels/kernel_call.h"
#include "support/try.h"

namespace depute::internal {
namespace {

struct Statistics {
  double mean = 0;
  double inverse_deviation = 0;  // 1 / sqrt(variance + eps)
};

double inverse_deviation(double variance, double eps) {
  return 1 / std::sqrt(variance + eps);
}

Statistics statistics_of(std::span<const double> elements, double eps) {
  Statistics result;
  for (double x : elements) result.mean += x;
  result.mean /= static_cast<double>(elements.size());
  double squares = 0;
  for (double x : elements) squares += (x - result.mean) * (x - result.mean);
  result.inverse_deviation = inverse_deviation(squares / static_cast<double>(elements.size()), eps);
  return result;
}

// Returns the statistics of each of `parts` equal parts of the elements.
std::vector<Statistics> statistics_of_parts(const Elements<double>& elements, std::size_t parts, double eps) {
  std::vector<Statistics> result;
  result.reserve(parts);
  std::size_t length = parts == 0 ? 0 : elements.size() / parts;
  for (std::size_t i = 0; i < parts; ++i) {
    result.push_back(statistics_of(elements.span().subspan(i * length, length), eps));
  }
  return result;
}

// Returns a weight or bias as numbers; `count` times `otherwise` if it is missing.
Result<std::vector<double>> factors(const KernelCall& call, std::string_view name, std::size_t count,
                                    double otherwise) {
  auto data = call.optional_tensor(name);
  if (!data) return std::vector<double>(count, otherwise);
  TRY_STATUS(check_arithmetic(data->type.dtype));
  if (count_of(*data) != count)
    return bad_arguments("the weight or bias does not match the normalized dimensions");
  Elements<double> numbers(*data);
  return std::vector<double>(numbers.begin(), numbers.end());
}

Status check_floats(const KernelCall& call) {
  TRY(Domain domain, domain_of(call.tensor("input").type.dtype));
  if (domain == Domain::Int) return bad_arguments("normalization of integers");
  return {};
}

// Input of a norm in equal parts, each normalized by its own statistics.
struct Parts {
  TensorData input;
  std::size_t count = 0;
  double eps = 0;
};

// Weight and bias per element: each applies to `run` consecutive elements, cyclically. A part consists of
// whole runs.
struct ElementFactors {
  std::vector<double> weight, bias;
  std::size_t run = 1;
};

// Returns (x - mean) * inverse deviation * weight + bias.
std::vector<double> normalized(const Elements<double>& x, const Parts& parts, const ElementFactors& factors) {
  const std::vector<Statistics> statistics = statistics_of_parts(x, parts.count, parts.eps);
  std::vector<double> result(x.size());
  std::size_t i = 0, k = 0;
  for (const Statistics& own : statistics) {
    const std::size_t end = i + x.size() / parts.count;
    while (i < end) {
      const double weight = factors.weight[k], bias = factors.bias[k];
      for (const std::size_t run_end = i + factors.run; i < run_end; ++i)
        result[i] = (x[i] - own.mean) * own.inverse_deviation * weight + bias;
      k = k + 1 == factors.weight.size() ? 0 : k + 1;
    }
  }
  return result;
}

Result<RuntimeValue> normalized(const KernelCall& call, const Parts& parts, ElementFactors factors) {
  ScalarType dtype = call.result_type();
  return call.dense(dtype, sizes_of(parts.input), [parts, factors = std::move(factors), dtype] {
    return pack<double>(dtype, normalized(Elements<double>(parts.input), parts, factors));
  });
}

// Returns `result`, and the means and inverse deviations as tensors of `sizes`.
Contents with_statistics(const KernelCall& call, RuntimeValue result, const Parts& parts,
                         const Shape& sizes) {
  std::vector<RuntimeValue> results = {std::move(result)};
  for (auto member : {&Statistics::mean, &Statistics::inverse_deviation}) {
    ScalarType dtype = call.result_type(results.size());
    TRY_STATUS(check_arithmetic(dtype));
    TRY(RuntimeValue numbers, call.dense(dtype, sizes, [parts, member, dtype] {
      std::vector<double> list;
      for (const Statistics& own :
           statistics_of_parts(Elements<double>(parts.input), parts.count, parts.eps)) {
        list.push_back(own.*member);
      }
      return pack<double>(dtype, list);
    }));
    results.push_back(std::move(numbers));
  }
  return results;
}

// --- layers: the last dimensions

struct Layer {
  Parts parts;
  Shape outer;  // the input's sizes, with normalized dimensions as 1
  std::size_t length = 0;
};

Result<Layer> read_layer(const KernelCall& call) {
  TRY_STATUS(check_floats(call));
  TensorData input = call.tensor("input");
  Shape outer = sizes_of(input);
  Shape sizes = call.ints("normalized_shape");
  if (sizes.size() > outer.size() || !std::equal(sizes.rbegin(), sizes.rend(), outer.rbegin())) {
    return bad_arguments("normalized_shape must equal the input's last sizes");
  }
  std::fill(outer.end() - static_cast<std::ptrdiff_t>(sizes.size()), outer.end(), 1);
  std::size_t length = checked_count(sizes).value_or(0);
  if (length == 0) return bad_arguments("the normalized dimensions have no elements");
  return Layer{{input, count_of(input) / length, call.number("eps")}, outer, length};
}

Result<RuntimeValue> normalized_layer(const KernelCall& call, const Layer& layer) {
  TRY(std::vector<double> weight, factors(call, "weight", layer.length, 1));
  TRY(std::vector<double> bias, factors(call, "bias", layer.length, 0));
  return normalized(call, layer.parts, {std::move(weight), std::move(bias), 1});
}

Contents layer_norm(const KernelCall& call) {
  TRY(Layer layer, read_layer(call));
  return one(normalized_layer(call, layer));
}
Contents native_layer_norm(const KernelCall& call) {
  TRY(Layer layer, read_layer(call));
  TRY(RuntimeValue result, normalized_layer(call, layer));
  return with_statistics(call, std::move(result), layer.parts, layer.outer);
}

// --- groups of channels

struct Groups {
  Parts parts;
  std::int64_t batch = 0;
  std::int64_t count = 0;
  std::size_t channels = 0;
};

Result<Groups> read_groups(const KernelCall& call, std::string_view count_name) {
  TRY_STATUS(check_floats(call));
  TensorData input = call.tensor("input");
  Shape sizes = sizes_of(input);
  if (sizes.size() < 2) return bad_arguments("the input has no channel dimension");
  std::int64_t count = call.integer(count_name);
  if (count < 1 || sizes[1] % count != 0)
    return bad_arguments("the number of channels must be a multiple of the groups");
  Groups groups{{input, static_cast<std::size_t>(sizes[0] * count), call.number("eps")},
                sizes[0],
                count,
                static_cast<std::size_t>(sizes[1])};
  return groups;
}

Result<RuntimeValue> normalized_groups(const KernelCall& call, const Groups& groups) {
  TRY(std::vector<double> weight, factors(call, "weight", groups.channels, 1));
  TRY(std::vector<double> bias, factors(call, "bias", groups.channels, 0));
  std::size_t planes = static_cast<std::size_t>(groups.batch) * groups.channels;
  std::size_t plane = planes == 0 ? 1 : std::max<std::size_t>(count_of(groups.parts.input) / planes, 1);
  return normalized(call, groups.parts, {std::move(weight), std::move(bias), plane});
}

Contents group_norm(const KernelCall& call) {
  TRY(Groups groups, read_groups(call, "num_groups"));
  return one(normalized_groups(call, groups));
}
Contents native_group_norm(const KernelCall& call) {
  TRY(Groups groups, read_groups(call, "group"));
  TRY(RuntimeValue result, normalized_groups(call, groups));
  return with_statistics(call, std::move(result), groups.parts, {groups.batch, groups.count});
}

// --- batches

// Moves the channel dimension to the front, so that each channel's elements form one part.
TensorData channels_first(const TensorData& data) {
  Shape sizes = sizes_of(data);
  Shape strides = strides_of(data);
  std::swap(sizes[0], sizes[1]);
  std::swap(strides[0], strides[1]);
  return with_shape(data, sizes, strides, data.offset);
}

// Normalizes with the running statistics from training.
Contents batch_norm_inference(const KernelCall& call) {
  TRY_STATUS(check_floats(call));
  const TensorData& input = call.tensor("input");
  if (input.type.rank() < 2) return bad_arguments("the input has no channel dimension");
  Shape sizes = sizes_of(input);
  auto channels = static_cast<std::size_t>(sizes[1]);
  TRY(std::vector<double> weight, factors(call, "weight", channels, 1));
  TRY(std::vector<double> bias, factors(call, "bias", channels, 0));
  TRY(std::vector<double> mean, factors(call, "running_mean", channels, 0));
  TRY(std::vector<double> variance, factors(call, "running_var", channels, 1));
  double eps = call.number("eps");
  std::vector<double> scale;
  scale.reserve(channels);
  for (std::size_t i = 0; i < channels; ++i) scale.push_back(inverse_deviation(variance[i], eps) * weight[i]);
  std::size_t planes = static_cast<std::size_t>(sizes[0]) * channels;
  std::size_t plane = planes == 0 ? 1 : std::max<std::size_t>(count_of(input) / planes, 1);
  ScalarType dtype = call.result_type();
  TRY(RuntimeValue result, call.dense(dtype, sizes, [input, scale, bias, mean, channels, plane, dtype] {
    Elements<double> x(input);
    std::vector<double> numbers;
    numbers.reserve(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::size_t k = i / plane % channels;
      numbers.push_back((x[i] - mean[k]) * scale[k] + bias[k]);
    }
    return pack<double>(dtype, numbers);
  }));
  std::vector<RuntimeValue> results = {std::move(result)};
  for (std::size_t i = 1; i < 3; ++i) {
    TRY(RuntimeValue none, call.dense(call.result_type(i), {0}, [] { return std::vector<std::byte>(); }));
    results.push_back(std::move(none));
  }
  return results;
}

// Normalizes with the batch's own statistics.
Contents batch_norm_training(const KernelCall& call) {
  TRY_STATUS(check_floats(call));
  const TensorData& input = call.tensor("input");
  if (input.type.rank() < 2) return bad_arguments("the input has no channel dimension");
  TensorData by_channel = channels_first(input);
  auto channels = static_cast<std::size_t>(sizes_of(by_channel)[0]);
  if (count_of(input) == 0) return bad_arguments("the batch has no elements");
  TRY(std::vector<double> weight, factors(call, "weight", channels, 1));
  TRY(std::vector<double> bias, factors(call, "bias", channels, 0));
  Parts parts{by_channel, channels, call.number("eps")};
  const std::size_t length = count_of(input) / channels;
  TRY(RuntimeValue result, normalized(call, parts, {std::move(weight), std::move(bias), length}));
  return with_statistics(call, channels_first(std::get<TensorData>(result)), parts,
                         {static_cast<std::int64_t>(channels)});
}

}  // namespace

std::span<const KernelLine> norm_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.layer_norm.default", layer_norm},
      {"aten.native_layer_norm.default", native_layer_norm},
      {"aten.group_norm.default", group_norm},
      {"aten.native_group_norm.default", native_group_norm},
      {"aten._native_batch_norm_legit_no_training.default", batch_norm_inference},
      {"aten._native_batch_norm_legit.no_stats", batch_norm_training},
  };
  return lines;
}

}  // namespace depute::internal
