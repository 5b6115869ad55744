#include "cli/backend_argument.h"
#include "platform/parse_number.h"

#include <fmt/format.h>

namespace depute {

namespace {

// Position after "exec:" or "METHOD:exec:", or npos if the backend is not a program.
std::size_t start_of_program(std::string_view text) {
  constexpr std::string_view word = "exec:";
  if (text.starts_with(word)) return word.size();
  const std::size_t colon = text.find(':');
  if (colon == text.npos || !text.substr(colon + 1).starts_with(word)) return text.npos;
  return colon + 1 + word.size();
}

}  // namespace

Result<BackendRequest> parse_backend_argument(const std::string& text) {
  BackendRequest request;
  std::size_t colon = text.find(':');
  request.name = text.substr(0, colon);
  if (const std::size_t program = start_of_program(text); program != std::string::npos) {
    if (program > std::string_view("exec:").size())
      request.method = text.substr(0, program - std::string_view(":exec:").size());
    colon = text.find(':', program);
    request.program = text.substr(program, colon == std::string::npos ? colon : colon - program);
    request.name = request.program;
  } else if (colon != std::string::npos) {
    const std::size_t next = text.find(':', colon + 1);
    const std::string word = text.substr(colon + 1, next == std::string::npos ? next : next - colon - 1);
    if (!word.empty() && word.find('=') == std::string::npos) {
      request.method = std::move(request.name);
      request.name = word;
      colon = next;
    }
  }
  if (request.name.empty()) return failure("usage", "--backend", "the backend has no name");
  while (colon != std::string::npos) {
    std::size_t start = colon + 1;
    colon = text.find(',', start);
    std::string option = text.substr(start, colon == std::string::npos ? colon : colon - start);
    std::size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return failure("usage", "--backend", fmt::format("option '{}' must have the form key=value", option));
    }
    request.options.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  }
  return request;
}

Result<std::pair<std::string, std::string>> parse_method_argument(const std::string& text) {
  std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return failure("usage", "--method", fmt::format("'{}' must have the form NAME=FILE.pt2", text));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<std::pair<std::string, std::string>> parse_arrays_argument(std::string_view option,
                                                                  const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || text.find('/') < equals) return std::pair(std::string(), text);
  if (equals == 0 || equals + 1 == text.size())
    return failure("usage", option, fmt::format("'{}' must have the form METHOD=FILE.npz", text));
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<std::pair<std::string, Range>> parse_bound_argument(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t dots = text.find("..", equals == std::string::npos ? 0 : equals);
  Range range;
  const auto read = [&](std::size_t begin, std::size_t end, std::int64_t& number) {
    const auto parsed = parse_number<std::int64_t>(std::string_view(text).substr(begin, end - begin));
    number = parsed.value_or(-1);
    return number >= 0;
  };
  const bool is_read = equals != std::string::npos && equals > 0 && dots != std::string::npos &&
                       (dots == equals + 1 || read(equals + 1, dots, range.min)) &&
                       read(dots + 2, text.size(), range.max) && range.min <= range.max;
  if (is_read) return std::pair(text.substr(0, equals), range);
  return failure("usage", "--bound", fmt::format("'{}' must have the form SIZE=MIN..MAX", text),
                 "for example s0=1..2048");
}

}  // namespace depute
