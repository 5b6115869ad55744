// The measured table. All other ops in the benchmark are cheaper inside the delegate at every size it tries
// (README.md), so only layer norms have rows here. A delegate border costs 0.1 us at any size and needs no
// row.
#include "costs.h"

#include <fmt/format.h>

#include <algorithm>

namespace depute::xnnpack {
namespace {

// Cost per element in ns. A row holds from its width and rows up to the next ones. Measured on one thread of
// an x86-64 CPU with AVX-512 and 1 MiB of cache per core.
struct Measured {
  double width;
  double rows;
  double inside;
  double outside;
};

// Ascending. ExecuTorch's kernel has a faster loop from 256 elements on. XNNPACK's nodes read columns of
// weights, which is expensive for few rows. They also pass over memory several times, which is slow if the
// rows do not fit into a cache.
constexpr Measured layer_norms[] = {
    {64, 1, 8.50, 1.28},     {64, 8, 1.67, 1.20},     {64, 64, 0.67, 1.16},     {64, 256, 0.61, 1.16},
    {64, 1024, 0.84, 1.17},  {64, 4096, 0.97, 1.18},  {128, 1, 5.49, 1.33},     {128, 8, 1.21, 1.26},
    {128, 64, 0.62, 1.25},   {128, 256, 0.83, 1.26},  {128, 1024, 1.03, 1.28},  {128, 4096, 1.02, 1.26},
    {192, 1, 4.31, 1.43},    {192, 8, 1.08, 1.34},    {192, 64, 0.62, 1.33},    {192, 256, 0.82, 1.34},
    {192, 1024, 1.03, 1.36}, {192, 4096, 0.97, 1.34}, {256, 1, 3.71, 0.72},     {256, 8, 0.94, 0.64},
    {256, 64, 0.67, 0.65},   {256, 256, 0.90, 0.65},  {256, 1024, 1.18, 0.66},  {256, 4096, 1.07, 0.68},
    {512, 1, 2.97, 0.66},    {512, 8, 0.81, 0.63},    {512, 64, 0.81, 0.62},    {512, 256, 0.94, 0.63},
    {512, 1024, 0.84, 0.60}, {512, 4096, 0.98, 0.62}, {1024, 1, 2.46, 0.62},    {1024, 8, 0.83, 0.61},
    {1024, 64, 0.89, 0.60},  {1024, 256, 1.43, 0.62}, {1024, 1024, 0.98, 0.63}, {2048, 1, 2.34, 0.60},
    {2048, 8, 1.35, 0.60},   {2048, 64, 1.02, 0.62},  {2048, 256, 0.96, 0.58},  {4096, 1, 3.34, 0.58},
    {4096, 8, 1.68, 0.60},   {4096, 64, 1.53, 0.60},  {4096, 256, 1.35, 0.59},
};

}  // namespace

Costs layer_norm_costs(double rows, double width) {
  const Measured* found = &layer_norms[0];
  for (const Measured& row : layer_norms) {
    if (row.width <= std::max(width, found->width) && row.rows <= rows) found = &row;
  }
  const double elements = rows * width * 1e-3;
  return {elements * found->inside, elements * found->outside};
}

bool is_dearer(const Costs& costs) {
  return costs.inside > 1.1 * costs.outside;
}

std::string cost_text(double us) {
  if (us < 99.5) return fmt::format("{:.1f} us", us);
  return fmt::format("{:.2f} ms", us * 1e-3);
}

}  // namespace depute::xnnpack
