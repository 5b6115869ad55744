// Suggests known words for an unknown word of the user.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace depute {

// Returns the most similar known word; nullopt if none is within two typing errors.
std::optional<std::string> max_similar(std::string_view word, std::span<const std::string> known);

// Returns "did you mean relu?", or `otherwise` if no known word is similar.
std::string did_you_mean(std::string_view word, std::span<const std::string> known,
                         std::string_view otherwise = {});

}  // namespace depute
