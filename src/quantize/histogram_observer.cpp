#include "quantize/histogram_observer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace depute {
namespace {

constexpr std::size_t bin_count = 2048;
constexpr float float_bins = bin_count;
constexpr std::size_t integer_count = 256;
// Number of parts that each bin is divided into when the histogram is moved to other bins.
constexpr std::size_t parts_of_bin = 16;
// Fraction of all elements that each step cuts off at one end.
constexpr double cut_step = 1e-5;

struct Extent {
  float least = std::numeric_limits<float>::infinity();
  float most = -std::numeric_limits<float>::infinity();
  bool has_nan = false;

  bool is_empty() const { return least > most; }
};

Extent extent_of(std::span<const float> elements) {
  Extent extent;
  for (const float x : elements) {
    extent.has_nan |= std::isnan(x);
    if (std::isinf(x)) continue;
    extent.least = x < extent.least ? x : extent.least;
    extent.most = x > extent.most ? x : extent.most;
  }
  return extent;
}

// Histogram over [least, most]. If both are equal, the range is widened by 1 on each side.
std::vector<float> counted(std::span<const float> elements, float least, float most) {
  if (least == most) {
    least -= 1;
    most += 1;
  }
  std::vector<std::uint64_t> counts(bin_count);
  for (const float x : elements) {
    if (x < least || x > most) continue;
    const float place = (x - least) * float_bins / (most - least);
    ++counts[place < float_bins ? static_cast<std::size_t>(place) : bin_count - 1];
  }
  return {counts.begin(), counts.end()};
}

// Returns point i of count + 1 equally spaced points. The upper half is computed from the upper end.
float point_between(float least, float most, std::size_t i, std::size_t count) {
  const float step = (most - least) / static_cast<float>(count);
  if (i < (count + 1) / 2) return least + step * static_cast<float>(i);
  return most - step * static_cast<float>(count - i);
}

// Integral of x^2 from `begin` to `end`.
float square_error(float begin, float end) {
  return (end * end * end - begin * begin * begin) / 3;
}

// Computes floor(a / b). Near an integer the rounding of a / b could decide, so the exact remainder is used.
float floor_of_quotient(float a, float b) {
  const float quotient = a / b;
  const float near = std::nearbyint(quotient);
  if (std::abs(quotient - near) > 1e-3F) return std::floor(quotient);
  const float remainder = std::fmod(a, b);
  float whole = (a - remainder) / b;
  if (remainder != 0 && (b < 0) != (remainder < 0)) whole -= 1;
  const float below = std::floor(whole);
  return whole - below > 0.5F ? below + 1 : below;
}

}  // namespace

bool HistogramObserver::observe(std::span<const float> elements) {
  const Extent extent = extent_of(elements);
  if (extent.has_nan) return false;
  if (extent.is_empty()) return true;
  if (!has_seen()) {
    least_ = extent.least;
    most_ = extent.most;
    histogram_ = counted(elements, least_, most_);
    return true;
  }
  const float least = std::min(least_, extent.least);
  const float most = std::max(most_, extent.most);
  std::vector<float> before = stretched(least, most);
  histogram_ = counted(elements, least, most);
  for (std::size_t i = 0; i < bin_count; ++i) histogram_[i] += before[i];
  least_ = least;
  most_ = most;
  return true;
}

// Returns the histogram in bins over [least, most], which contains the current range.
std::vector<float> HistogramObserver::stretched(float least, float most) const {
  if (least == least_ && most == most_) return histogram_;
  if (least_ == most_) {
    const float total = std::accumulate(histogram_.begin(), histogram_.end(), 0.0F);
    std::vector<float> all = counted(std::span(&least_, 1), least, most);
    for (float& count : all) count *= total;
    return all;
  }
  constexpr std::size_t part_count = bin_count * parts_of_bin;
  const float part_size = (most_ - least_) / static_cast<float>(part_count);
  std::vector<float> bounds(bin_count + 1);
  for (std::size_t i = 0; i <= bin_count; ++i) bounds[i] = point_between(least, most, i, bin_count);
  std::vector<float> bins(bin_count);
  std::size_t bin = 0;  // bin whose lower bound is at or below the middle of the part; parts ascend
  for (std::size_t i = 0; i < part_count; ++i) {
    const float middle = point_between(least_, most_, i, part_count) + 0.5F * part_size;
    while (bin + 1 < bin_count && bounds[bin + 1] <= middle) ++bin;
    bins[bin] += histogram_[i / parts_of_bin] / static_cast<float>(parts_of_bin);
  }
  return bins;
}

// Squared error of all elements if these bins are divided into 256 equal steps and outside values are
// clamped. Elements are assumed to be evenly distributed in their bins.
double HistogramObserver::error_of(Bins bins) const {
  const double width = (double{most_} - double{least_}) / bin_count;
  const double step = width * static_cast<double>(bins.last - bins.first + 1) / integer_count;
  if (step == 0) return 0;
  const auto bin_width = static_cast<float>(width);
  const auto step_width = static_cast<float>(step);
  const auto half = static_cast<float>(step / 2);
  const float full_step = square_error(-half, half);
  constexpr float last_integer = integer_count - 1;
  double error = 0;
  for (std::size_t i = 0; i < bin_count; ++i) {
    const float density = histogram_[i] / bin_width;
    if (density == 0) continue;
    const float begin = (static_cast<float>(i) - static_cast<float>(bins.first)) * bin_width;
    const float end = begin + bin_width;
    const float first = std::clamp(floor_of_quotient(begin, step_width), 0.0F, last_integer);
    const float last = std::clamp(floor_of_quotient(end, step_width), 0.0F, last_integer);
    float norm = density * square_error(begin - (first + 0.5F) * step_width, half);
    norm += (last - first - 1) * (density * full_step);
    norm += density * square_error(-half, end - (last * step_width + half));
    error += double{norm};
  }
  return error;
}

// Cuts bins at the end where one more step removes more bins, until the error grows.
HistogramObserver::Bins HistogramObserver::best_bins() const {
  std::vector<float> up_to(bin_count);  // number of elements in this bin and all earlier bins
  double sum = 0;
  for (std::size_t i = 0; i < bin_count; ++i) {
    sum += double{histogram_[i]};
    up_to[i] = static_cast<float>(sum);
  }
  const double total = double{static_cast<float>(sum)};
  double cut_below = 0;
  double keep_below = 1;
  Bins best = {0, bin_count - 1};
  double min_error = std::numeric_limits<double>::infinity();
  while (cut_below < keep_below) {
    const double next_cut = cut_below + cut_step;
    const double next_keep = keep_below - cut_step;
    std::size_t first = best.first;
    std::size_t last = best.last;
    while (first < best.last && up_to[first] < static_cast<float>(next_cut * total)) ++first;
    while (last > best.first && up_to[last] > static_cast<float>(next_keep * total)) --last;
    Bins next = best;
    if (first - best.first > best.last - last) {
      next.first = first;
      cut_below = next_cut;
    } else {
      next.last = last;
      keep_below = next_keep;
    }
    if (next.first == best.first && next.last == best.last) continue;
    const double error = error_of(next);
    if (error > min_error) break;
    min_error = error;
    best = next;
  }
  return best;
}

Quantum HistogramObserver::quantum(float lowest, float smallest_scale) const {
  if (!has_seen()) return {};
  const Bins bins = best_bins();
  const float width = (most_ - least_) / float_bins;
  const float least = std::min({least_ + width * static_cast<float>(bins.first), lowest, 0.0F});
  const float most = std::max(least_ + width * static_cast<float>(bins.last + 1), 0.0F);
  constexpr float steps = integer_count - 1;
  const float scale = std::max((most - least) / steps, smallest_scale);
  const float zero_point = -128 - std::nearbyint(least / scale);
  return {scale, static_cast<std::int64_t>(std::clamp(zero_point, -128.0F, 127.0F))};
}

}  // namespace depute
