// Finds what the user may have meant by a word that is not known.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace depute {

// The most similar of the known words; nothing when none is within two typing errors.
std::optional<std::string> most_similar(std::string_view word, std::span<const std::string> known);

// "did you mean relu?"; `otherwise` when none is so near.
std::string did_you_mean(std::string_view word, std::span<const std::string> known,
                         std::string_view otherwise = {});

}  // namespace depute
