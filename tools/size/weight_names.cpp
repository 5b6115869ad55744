#include "tools/size/weight_names.h"

#include <algorithm>
#include <array>

namespace depute {

std::string weight_name(std::string_view key) {
  std::string_view name = key.substr(0, key.find_first_of(",)"));
  name = name.substr(name.rfind('(') + 1);
  const std::size_t colon = name.find(':');
  // "%3: f32[2, 3]" is the name of a value in a file without keys.
  if (colon == name.npos || name.substr(colon).starts_with(": ")) return std::string(key);
  name = name.substr(colon + 1);
  return std::string(name.substr(0, name.find(':')));
}

std::string layer_name(std::string_view key) {
  const std::string name = weight_name(key);
  static constexpr std::array<std::string_view, 5> parts = {".weight", ".bias", ".running_mean",
                                                            ".running_var", ".num_batches_tracked"};
  std::size_t end = name.size();
  for (std::string_view part : parts) end = std::min(end, name.find(part));
  return name.substr(0, end);
}

}  // namespace depute
