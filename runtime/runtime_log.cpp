#include "runtime/runtime_log.h"

#include <executorch/runtime/platform/platform.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

namespace depute {
namespace {

constexpr std::size_t max_logged = 2000;

std::mutex logged_mutex;
std::string logged;

void log_message(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, std::size_t,
                 const char* message, std::size_t length) {
  if (level != et_pal_log_level_t::kError && level != et_pal_log_level_t::kFatal) return;
  const std::lock_guard lock(logged_mutex);
  if (logged.size() > max_logged) return;
  if (!logged.empty()) logged += "; ";
  logged += std::string_view(message, length);
}

[[noreturn]] void end_process() {
  std::fprintf(stderr, "error[run]: ExecuTorch's runtime ends the process: %s\n", logged.c_str());
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace

void keep_runtime_log() {
  using executorch::runtime::PalImpl;
  PalImpl pal = PalImpl::create(log_message, __FILE__);
  pal.abort = end_process;
  executorch::runtime::register_pal(pal);
}

std::string take_logged_errors() {
  const std::lock_guard lock(logged_mutex);
  return std::exchange(logged, {});
}

}  // namespace depute
