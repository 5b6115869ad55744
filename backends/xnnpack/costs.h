// What a computation costs inside of a delegate and outside of it, on ExecuTorch's own kernel: what decides
// whether XNNPACK takes a node that it could take. Figures are measured (bench/xnnpack_costs.py), not
// derived.
//
//   layer_norm_costs(1, 384)     -> outside is cheaper: 0.3 us, 1.5 us inside
//   layer_norm_costs(3136, 96)   -> inside is cheaper: 0.30 ms, 0.35 ms outside
#pragma once

#include <string>

namespace depute::xnnpack {

struct Costs {  // in us a call
  double inside;
  double outside;
};

// Of a normalisation of `rows` rows of `width` elements, both at least 1.
Costs layer_norm_costs(double rows, double width);

// True where the kernel is faster by more than a tenth. Within it the delegate is kept whole: a runtime may
// have slower kernels than the one of the measurement, hardly faster ones.
bool is_dearer(const Costs& costs);

// "4.9 us", "0.35 ms"
std::string cost_text(double us);

}  // namespace depute::xnnpack
