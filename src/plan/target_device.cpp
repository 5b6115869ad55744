#include "plan/target_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string>

namespace depute {
namespace {

// Normalizes the text like ExecuTorch: trims spaces and ignores case.
std::string normal(std::span<const std::byte> value) {
  std::string text(reinterpret_cast<const char*>(value.data()), value.size());
  auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(text.begin(), std::ranges::find_if_not(text, is_space));
  while (!text.empty() && is_space(static_cast<unsigned char>(text.back()))) text.pop_back();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

Status check_target_device(const Delegate& delegate) {
  auto spec = std::ranges::find(delegate.compile_specs, target_device_key, &CompileSpec::key);
  if (spec == delegate.compile_specs.end()) return {};
  const std::string device = normal(spec->value);
  const std::string type = device.substr(0, device.find(':'));
  const std::string index = type.size() < device.size() ? device.substr(type.size() + 1) : "0";
  const std::string place = fmt::format("delegate {}, backend {}", delegate.name.str(), delegate.backend_id);
  bool is_number = !index.empty() && index.size() <= 3 && index.find_first_not_of("0123456789") == index.npos;
  if ((type != "cpu" && type != "cuda") || !is_number) {
    return failure("plan", place,
                   fmt::format("its compile spec {} is \"{}\"; expected a device", spec->key, device),
                   "devices are cpu and cuda, optionally with an index: cuda:0");
  }
  if (type == "cpu") return {};
  return failure("plan", place,
                 fmt::format("its compile spec {} requests arguments and results in memory of {}, but "
                             "only CPU memory is supported",
                             spec->key, device),
                 "omit the compile spec: the backend's runtime then copies its arguments and results");
}

}  // namespace depute
