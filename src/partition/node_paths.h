// Paths between nodes as text, for reasons.
#pragma once

#include <span>
#include <string>

#include "depute/program/graph.h"

namespace depute {

// "%a -> %tan -> %b". The middle of a long path is omitted.
std::string path_text(std::span<const Node* const> path);

}  // namespace depute
