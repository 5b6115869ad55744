#include "read/json_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "read/quote.h"

namespace depute {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Scans a text that a parser has accepted; stops at an error.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t position() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_;
  }
  char peek() {
    position();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  // Returns the raw text between the quotes, with its escapes.
  std::optional<std::string_view> string() {
    if (!take('"')) return std::nullopt;
    std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return std::nullopt;
    return text_.substr(start, at_++ - start);
  }

  bool skip_value() {
    std::size_t depth = 0;
    do {
      char c = peek();
      if (c == '\0') return false;
      if (c == '"') {
        if (!string()) return false;
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (depth > 0 && (c == '}' || c == ']')) {
        --depth;
        ++at_;
      } else if (depth > 0 && (c == ',' || c == ':')) {
        ++at_;
      } else {
        std::size_t start = at_;
        while (at_ < text_.size() &&
               std::string_view("{}[],:\" \t\r\n").find(text_[at_]) == std::string_view::npos) {
          ++at_;
        }
        if (at_ == start) return false;
      }
    } while (depth > 0);
    return true;
  }

  bool enter(const JsonStep& step) { return step.is_index ? enter_index(step.index) : enter_key(step.key); }

 private:
  bool enter_index(std::size_t index) {
    if (!take('[')) return false;
    for (std::size_t i = 0; i < index; ++i) {
      if (!skip_value() || !take(',')) return false;
    }
    return peek() != ']';
  }

  bool enter_key(std::string_view key) {
    if (!take('{')) return false;
    do {
      auto found = string();
      if (!found || !take(':')) return false;
      if (*found == key) return true;
      if (!skip_value()) return false;
    } while (take(','));
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string json_path(std::span<const JsonStep> steps) {
  std::string path;
  for (const JsonStep& step : steps) {
    if (step.is_index) {
      path += fmt::format("[{}]", step.index);
    } else if (is_identifier(step.key)) {
      path += path.empty() ? "" : ".";
      path += step.key;
    } else {
      path += fmt::format("[{}]", quote(step.key));
    }
  }
  return path;
}

std::optional<std::size_t> json_offset(std::string_view text, std::span<const JsonStep> steps) {
  Scanner scanner(text);
  for (const JsonStep& step : steps) {
    if (!scanner.enter(step)) return std::nullopt;
  }
  return scanner.position();
}

}  // namespace depute
