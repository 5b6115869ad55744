// The line on a terminal that tells how far a long run is. Elsewhere nothing is printed.
//
//   ProgressLine line;
//   line.done("normalize");                    4.2 s, normalize is done
//   line.part("calibrate", 3, 20);             5.1 s, calibrate: 3 of 20 samples
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "platform/standard_streams.h"

namespace depute {

// The destructor removes the line from the terminal.
class ProgressLine {
 public:
  ProgressLine() : is_wanted_(platform::is_terminal(stderr)) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool is_wanted() const { return is_wanted_; }

  // Names the last completed step of a run of more than a second.
  void done(std::string_view step);
  // Steps of samples take long, so they are shown from the first sample on.
  void part(std::string_view step, std::size_t done, std::size_t total);
  // Shows any text behind the seconds that have passed.
  void show(const std::string& text);

 private:
  double seconds() const;

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool is_wanted_;
  bool is_shown_ = false;
};

}  // namespace depute
