// Removes blanks from both ends of a text, and from between its words.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace depute {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

inline std::vector<std::string_view> split_words(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(blank); at != text.npos;
       at = text.find_first_not_of(blank, at)) {
    const std::size_t end = std::min(text.find_first_of(blank, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace depute
