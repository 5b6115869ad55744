#include "lower/cache/result_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "lower/cache/folder_store.h"
#include "lower/cache/http_store.h"

namespace depute {
namespace {

constexpr std::uint64_t default_folder_bytes = std::uint64_t{10} << 30;

// True for "http://host", "s3://bucket", and for "http:/host", which pathlib makes of a URL.
bool is_url(std::string_view text) {
  const std::size_t end = text.find(":/");
  if (end == text.npos || end < 2 || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  return std::ranges::all_of(text.substr(0, end), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
  });
}

}  // namespace

// Not by std::filesystem, which may make http:/host of a URL.
std::string joined(std::string_view place, std::string_view name) {
  return fmt::format("{}{}{}", place, place.ends_with('/') ? "" : "/", name);
}

std::string ResultStore::place_of(const std::string& name) const {
  return joined(place_, name);
}

Result<std::unique_ptr<ResultStore>> open_store(const CacheOptions& options) {
  if (!is_url(options.store))
    return open_folder_store(options.store, options.max_bytes.value_or(default_folder_bytes));
  if (options.max_bytes)
    return failure("usage", "--cache-size", "the cache is a server, which itself decides how much it keeps",
                   "give a size only for a folder");
  return open_http_store(options.store);
}

}  // namespace depute
