#include "plan/data_file.h"

#include <algorithm>

#include "support/wildcard.h"

namespace depute {
namespace {

constexpr std::string_view everything = "*";

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// Matches the names within a key of a delegate's data. Words before '(' and ':' are skipped: they name
// operations.
bool matches_part(std::string_view pattern, std::string_view key) {
  for (std::size_t begin = 0; begin < key.size(); ++begin) {
    std::size_t end = begin;
    while (end < key.size() && is_of_name(key[end])) ++end;
    const bool is_name = end > begin && (end == key.size() || (key[end] != '(' && key[end] != ':'));
    if (is_name && matches_wildcard(pattern, key.substr(begin, end - begin))) return true;
    begin = end;
  }
  return false;
}

}  // namespace

std::optional<std::size_t> find_file(std::span<const DataFile> files, std::string_view name) {
  const auto found = std::ranges::find_if(files, [&](const DataFile& file) {
    return matches_wildcard(file.pattern, name) || matches_part(file.pattern, name);
  });
  if (found == files.end()) return std::nullopt;
  return static_cast<std::size_t>(found - files.begin());
}

const DataFile* file_of_rest(std::span<const DataFile> files) {
  const auto found = std::ranges::find(files, everything, &DataFile::pattern);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace depute
