// Finds the range of a tensor that 8 bits lose least on, from all that it held in a calibration: the
// histogram observer of PT2E, with its numbers.
//
//   HistogramObserver observer;
//   for (...) observer.observe(elements);
//   Quantum quantum = observer.quantum();       // x is about (q - zero_point) * scale
//
// The range is that of what was seen, cut at both ends as long as the squared error of quantising shrinks: a
// few outliers cost less than wide steps for all others. Numbers are of 32 bits where torch has them so, for
// scales to be equal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace depute {

// Integers from -128 to 127.
struct Quantum {
  float scale = 1;
  std::int64_t zero_point = 0;
  friend bool operator==(const Quantum&, const Quantum&) = default;
};

// The smallest scale that XNNPACK's quantiser gives.
inline constexpr float least_scale = 0x1p-12F;

class HistogramObserver {
 public:
  // Infinities are skipped. False where there is a NaN: then nothing is observed.
  [[nodiscard]] bool observe(std::span<const float> elements);

  // Nothing was observed as long as this is false.
  bool has_seen() const { return !histogram_.empty(); }
  float least() const { return least_; }
  float most() const { return most_; }
  Quantum quantum() const;

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
