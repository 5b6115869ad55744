// Writes a graph as a flatbuffer of TOSA, and reads one for people.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "depute/backend/backend.h"
#include "depute/program/result.h"
#include "graph.h"

namespace depute::tosa {

std::vector<std::byte> write_graph(const TosaGraph& graph);

// Returns an operator a line. The bytes come from a file and may be corrupt: then fails.
Result<std::string> describe_graph(std::span<const std::byte> bytes);
// Returns the places of the constants. The bytes may be corrupt, as in describe_graph().
Result<PayloadLayout> layout_of_graph(std::span<const std::byte> bytes);

}  // namespace depute::tosa
