// Paths between nodes as text, for reasons.
#pragma once

#include <span>
#include <string>

#include "depute/graph.h"

namespace depute {

// "%a -> %tan -> %b"; of a long path the middle is left out.
std::string path_text(std::span<const Node* const> path);

}  // namespace depute
