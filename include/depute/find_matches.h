// Finds where patterns (pattern.h) occur in a graph.
//
//   pattern  addmm -> relu           graph   addmm -> relu -> addmm -> relu      two matches
//
// Matches do not overlap. All of the first pattern are found before those of the second; of one pattern,
// matches that end earlier in the graph come first. For a pattern, time is linear in the nodes: at each
// node a bounded number of steps is tried (max_match_steps), and of a value max_match_users users.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "depute/pattern.h"

#pragma GCC visibility push(default)

namespace depute {

inline constexpr std::size_t max_match_steps = 4096;
inline constexpr std::size_t max_match_users = 64;

struct PatternMatch {
  std::size_t pattern = 0;           // its number
  std::vector<const Node*> nodes;    // per node of the pattern
  std::vector<const Value*> inputs;  // per input of the pattern; null if only open arguments hold it
  std::vector<Argument> literals;  // per input of the pattern: what it stands for; None if that is no literal
};

// `method` is that of the graph: it knows the constants.
std::vector<PatternMatch> find_matches(const Method& method, const Graph& graph,
                                       std::span<const Pattern> patterns);

}  // namespace depute

#pragma GCC visibility pop
