#include "tools/report/option_text.h"

#include <fmt/format.h>

namespace depute {
namespace {

// Omits the ends that the bound does not restrict.
std::string bound_text(const Range& range) {
  std::string text;
  if (range.min != Range::min_bound) text += std::to_string(range.min);
  text += "..";
  if (range.max != Range::max_bound) text += std::to_string(range.max);
  return text;
}

}  // namespace

std::string backend_argument(const BackendRequest& request, bool has_names) {
  const bool is_program = !has_names && !request.program.empty();
  const std::string name = is_program ? "exec:" + request.program : request.name;
  std::string text = request.method.empty() ? name : request.method + ":" + name;
  char separator = ':';
  for (const auto& [key, value] : request.options) {
    text += fmt::format("{}{}={}", separator, key, value);
    separator = ',';
  }
  return text;
}

std::string shell_word(std::string text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@";
  return text.find_first_not_of(plain) == text.npos ? text : "'" + text + "'";
}

std::string backend_flags(const LowerOptions& options) {
  std::string text;
  for (const BackendRequest& request : options.backends)
    text += (text.empty() ? "--backend " : " --backend ") + shell_word(backend_argument(request, true));
  return options.joint_planning ? text + " --together" : text;
}

std::vector<std::string> deciding_options(const LowerOptions& options) {
  std::vector<std::string> texts;
  for (const QuantizeRule& rule : options.quantize) texts.push_back("--quantize " + rule.text);
  for (const IntegerIoRule& rule : options.integer_io)
    texts.push_back(
        fmt::format("--integer-io {}{}{}", rule.method, rule.method.empty() ? "" : ":", rule.which));
  for (const TapRule& rule : options.taps) texts.push_back("--tap " + rule.text);
  for (const auto& [size, range] : options.bounds)
    texts.push_back(fmt::format("--bound {}={}", size, bound_text(range)));
  for (const BackendRequest& request : options.backends)
    texts.push_back("--backend " + backend_argument(request, true));
  if (options.joint_planning) texts.emplace_back("--together");
  return texts;
}

}  // namespace depute
