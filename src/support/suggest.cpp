#include "depute/program/result.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace depute {
namespace {

constexpr std::size_t max_errors = 2;
constexpr std::size_t max_length = 64;  // longer words are never compared

// Number of letters to insert, delete or change (Levenshtein distance).
std::size_t typing_errors(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Returns the most similar known word; nullopt if none is within two typing errors.
std::optional<std::string> max_similar(std::string_view word, std::span<const std::string> known) {
  if (word.size() > max_length) return std::nullopt;
  std::optional<std::string> best;
  std::size_t least = max_errors + 1;
  for (const std::string& candidate : known) {
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    if (longer - shorter > max_errors) continue;
    std::size_t errors = typing_errors(word, candidate);
    if (errors >= least || errors >= candidate.size()) continue;
    least = errors;
    best = candidate;
  }
  return best;
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> known,
                         std::string_view otherwise) {
  const std::optional<std::string> similar = max_similar(word, known);
  return similar ? "did you mean " + *similar + "?" : std::string(otherwise);
}

}  // namespace depute
