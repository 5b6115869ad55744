// Measures the steps of a compilation for its report.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "depute/tools/report.h"

namespace depute {

class StepTimer {
 public:
  explicit StepTimer(std::vector<StepTime>& times) : times_(times) {}

  // Appends the time since the last call, or since the construction, under the name of the step.
  void done(std::string_view step) {
    const auto now = std::chrono::steady_clock::now();
    times_.push_back({std::string(step), std::chrono::duration<double, std::milli>(now - last_).count()});
    last_ = now;
  }

  void restart() { last_ = std::chrono::steady_clock::now(); }

 private:
  std::vector<StepTime>& times_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace depute
