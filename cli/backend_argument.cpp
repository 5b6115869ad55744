#include "cli/backend_argument.h"

#include <fmt/format.h>

namespace depute {

Result<BackendRequest> parse_backend_argument(const std::string& text) {
  BackendRequest request;
  std::size_t colon = text.find(':');
  request.name = text.substr(0, colon);
  if (request.name.empty()) return failure("usage", "--backend", "a backend needs a name");
  while (colon != std::string::npos) {
    std::size_t start = colon + 1;
    colon = text.find(',', start);
    std::string option = text.substr(start, colon == std::string::npos ? colon : colon - start);
    std::size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return failure("usage", "--backend", fmt::format("option '{}' is not of the form key=value", option));
    }
    request.options.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  }
  return request;
}

Result<std::pair<std::string, std::string>> parse_method_argument(const std::string& text) {
  std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return failure("usage", "--method", fmt::format("'{}' is not of the form NAME=FILE.pt2", text));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace depute
