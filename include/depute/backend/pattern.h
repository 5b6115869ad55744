// Patterns: small graphs to match in a program, written in the text form (docs/partitioners.md).
//
//   program
//   method linear_relu(%x: none, %w: none = param "", %b: none) {
//     %l: f32[n, m] = aten.addmm.default(%b, %x, %w, match.rest)
//     %r: none = aten.relu.default(%l)
//     return %r
//   }
//
// Each method is a pattern. An input matches any value; with the role param, buffer or constant it matches a
// constant; with the type int, float, bool or string it matches a literal. The type none matches any type, a
// symbol any size. A name that occurs twice must match the same value in both places.
// Arguments are compared, omitted ones by their defaults, except for match.any (any argument) and match.rest
// (all following arguments). Values that the pattern does not return must have no uses outside the match.
// With !any_order, the first two arguments of a node may be swapped. find_matches() finds all matches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

inline constexpr std::size_t max_pattern_nodes = 256;

// True for a pattern input that matches a literal argument.
DEPUTE_API bool is_literal_input(const Value& input);

class DEPUTE_API Pattern {
 public:
  Name name() const { return method_->name; }
  const Method& method() const { return *method_; }

  // An expected argument of a pattern node, with its position. For a known op the position is that in the
  // schema, so that positional arguments, keywords and defaults agree; otherwise it is as written.
  struct Constraint {
    std::size_t position = 0;  // in the schema, or among positional arguments
    Name keyword;              // for an op without schema; empty for positional arguments
    const Argument* argument = nullptr;
  };
  struct PatternNode {
    const Node* node = nullptr;
    std::vector<Constraint> constraints;
    std::size_t positional = 0;  // number of positional arguments, for ops without schema
    bool any_order = false;
    bool open_rest = false;  // arguments without a Constraint are not compared
  };
  // How to find the next pattern node from known values: as the producer of a value, or as a user of one.
  struct Step {
    std::size_t node = 0;         // index of the pattern node
    const Value* made = nullptr;  // known result of the node
    const Value* used = nullptr;  // otherwise a known operand; both are null for the first step
  };
  std::span<const PatternNode> nodes() const { return nodes_; }  // in graph order
  std::span<const Step> steps() const { return steps_; }

 private:
  friend Result<std::vector<Pattern>> parse_patterns(std::string_view text, const std::string& file_name,
                                                     const std::shared_ptr<const OpTable>& ops);
  Status compile();
  Status add_node(const Node& node);
  Status check_outputs() const;
  Status order_nodes();

  std::shared_ptr<const Program> program_;  // owns the method
  const Method* method_ = nullptr;
  std::vector<PatternNode> nodes_;
  std::vector<Step> steps_;
};

// Parses one pattern per method of the text. Fails for text that does not parse or is no valid pattern.
DEPUTE_API Result<std::vector<Pattern>> parse_patterns(
    std::string_view text, const std::string& file_name = "<pattern>",
    const std::shared_ptr<const OpTable>& ops = torch_ops());

// --- matches

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
//
//   pattern  addmm -> relu           graph   addmm -> relu -> addmm -> relu      two matches
//
// Matches do not overlap. All matches of the first pattern are found before those of the second pattern. For
// one pattern, matches that end earlier in the graph come first. Time per pattern is linear in the nodes:
// each node is tried with at most max_match_steps steps, and at most max_match_users users of a value are
// considered.
DEPUTE_API std::vector<PatternMatch> find_matches(const Method& method, const Graph& graph,
                                                  std::span<const Pattern> patterns);

}  // namespace depute
