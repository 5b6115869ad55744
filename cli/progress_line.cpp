#include "cli/progress_line.h"

#include <fmt/format.h>

#include <cstdio>

namespace depute {

ProgressLine::~ProgressLine() {
  if (is_shown_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::done(std::string_view step) {
  if (seconds() >= 1) show(fmt::format("{} is done", step));
}

void ProgressLine::part(std::string_view step, std::size_t done, std::size_t total) {
  if (done == 0 || seconds() >= 1) show(fmt::format("{}: {} of {} samples", step, done, total));
}

double ProgressLine::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void ProgressLine::show(const std::string& text) {
  if (!is_wanted_) return;
  std::fputs(fmt::format("\r\033[K{:.1f} s, {}", seconds(), text).c_str(), stderr);
  std::fflush(stderr);
  is_shown_ = true;
}

}  // namespace depute
