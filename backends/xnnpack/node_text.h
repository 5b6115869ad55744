// Prints node kinds and attributes, for graphs (print_graph.h) and payloads (describe_payload.h).
//
//   Conv2d   , kernel 3x3, stride 2x2, groups 1 x 3 -> 8   , clamp 0..inf
#pragma once

#include <span>
#include <string>

#include "graph.h"

namespace depute::xnnpack {

std::string kind_name(NodeKind kind);  // "kind 77" for an unknown kind
std::string numbers_text(std::span<const std::uint32_t> numbers);
// Returns all attributes, each preceded by ", ".
std::string params_text(const NodeParams& params);
std::string flags_text(std::uint32_t flags, float output_min, float output_max);

}  // namespace depute::xnnpack
