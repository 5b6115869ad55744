// Finds the range for 8-bit quantization of a tensor with the smallest error, from all its calibration
// values. Equals PT2E's histogram observer number for number.
//
//   HistogramObserver observer;
//   for (...) observer.observe(elements);
//   Quantum quantum = observer.quantum();       // x is about (q - zero_point) * scale
//
// The range of all values is cut at both ends as long as the squared quantization error shrinks: clamping a
// few outliers costs less than wide steps for all others. Computes in 32 bits where torch does, so that
// scales are equal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace depute {

// Quantization parameters for integers from -128 to 127.
struct Quantum {
  float scale = 1;
  std::int64_t zero_point = 0;
  friend bool operator==(const Quantum&, const Quantum&) = default;
};

// The smallest scale that XNNPACK's quantizer uses.
inline constexpr float min_scale = 0x1p-12F;

class HistogramObserver {
 public:
  // Skips infinities. Returns false if there is a NaN; then nothing is observed.
  [[nodiscard]] bool observe(std::span<const float> elements);

  // True once something was observed.
  bool has_seen() const { return !histogram_.empty(); }
  float least() const { return least_; }
  float most() const { return most_; }
  // The range reaches down to `lowest` at least. Scales are not smaller than `smallest_scale`.
  Quantum quantum(float lowest = 0, float smallest_scale = min_scale) const;

 private:
  struct Bins {
    std::size_t first, last;
  };
  Bins best_bins() const;
  double error_of(Bins bins) const;
  std::vector<float> stretched(float least, float most) const;

  float least_ = 0;
  float most_ = 0;
  std::vector<float> histogram_;
};

}  // namespace depute
