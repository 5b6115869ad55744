// Finds all matches of patterns (pattern.h) in a graph.
//
//   pattern  addmm -> relu           graph   addmm -> relu -> addmm -> relu      two matches
//
// Matches do not overlap. All matches of the first pattern are found before those of the second pattern. For
// one pattern, matches that end earlier in the graph come first. Time per pattern is linear in the nodes:
// each node is tried with at most max_match_steps steps, and at most max_match_users users of a value are
// considered.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "depute/backend/pattern.h"

#pragma GCC visibility push(default)

namespace depute {

inline constexpr std::size_t max_match_steps = 4096;
inline constexpr std::size_t max_match_users = 64;

struct PatternMatch {
  std::size_t pattern = 0;         // index of the pattern
  std::vector<const Node*> nodes;  // matched node per node of the pattern
  // Matched value per pattern input; null if it occurs only in open arguments.
  std::vector<const Value*> inputs;
  std::vector<Argument> literals;  // matched literal per pattern input; None if the input is no literal
};

// Returns the matches in `graph`. `method` must contain the graph and identifies constants.
std::vector<PatternMatch> find_matches(const Method& method, const Graph& graph,
                                       std::span<const Pattern> patterns);

}  // namespace depute

#pragma GCC visibility pop
