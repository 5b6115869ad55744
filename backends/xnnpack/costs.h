// The cost of a computation inside a delegate and outside, on ExecuTorch's own kernel. It decides whether
// XNNPACK takes a supported node. The figures are measured (bench/xnnpack_costs.py).
//
//   layer_norm_costs(1, 384)     ->  outside is cheaper: 0.3 us, 1.5 us inside
//   layer_norm_costs(3136, 96)   ->  inside is cheaper: 0.30 ms, 0.35 ms outside
#pragma once

#include <string>

namespace depute::xnnpack {

struct Costs {  // in us per call
  double inside;
  double outside;
};

// Costs of normalizing `rows` rows of `width` elements, both at least 1.
Costs layer_norm_costs(double rows, double width);

// True if ExecuTorch's kernel is more than a tenth faster. Within that margin the delegate stays whole: a
// runtime's kernels may be slower than the measured one, but hardly faster.
bool is_dearer(const Costs& costs);

// "4.9 us", "0.35 ms"
std::string cost_text(double us);

}  // namespace depute::xnnpack
