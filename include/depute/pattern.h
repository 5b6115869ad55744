// Patterns: small graphs that are looked for in a program, written in the text form (docs/partitioners.md).
//
//   program
//   method linear_relu(%x: none, %w: none = param "", %b: none) {
//     %l: f32[n, m] = aten.addmm.default(%b, %x, %w, match.rest)
//     %r: none = aten.relu.default(%l)
//     return %r
//   }
//
// Each method is a pattern. Inputs stand for any value (one with the role param, buffer or constant for any
// constant, one of the type int, float, bool or string for any literal of it); the type none for any type; a
// symbol for any size. What stands in two places is the same in both. Arguments are compared, those left out
// by their defaults, but for match.any (any argument) and match.rest (all that follow). Values that are not
// returned must not be used outside of the match. Behind !any_order the first two arguments of a node may be
// exchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

inline constexpr std::size_t max_pattern_nodes = 256;

// True for an input of a pattern that stands for a literal argument.
bool is_literal_input(const Value& input);

class Pattern {
 public:
  Symbol name() const { return method_->name; }
  const Method& method() const { return *method_; }

  // An argument of a pattern's node: what stands there, and where. By the op's schema where it is known, so
  // that positions, keywords and defaults agree; else as written.
  struct Wish {
    std::size_t position = 0;  // in the schema, or among the positional arguments
    Symbol keyword;            // of an op without schema; empty for positional ones
    const Argument* argument = nullptr;
  };
  struct PatternNode {
    const Node* node = nullptr;
    std::vector<Wish> wishes;
    std::size_t positional = 0;  // positional arguments, for ops without schema
    bool any_order = false;
    bool open_rest = false;  // arguments without a wish are not compared
  };
  // How the next node of the pattern is found once some are: it makes a known value, or uses one.
  struct Step {
    std::size_t node = 0;         // its number
    const Value* made = nullptr;  // a result that is known
    const Value* used = nullptr;  // else an operand that is known; both null for the first step
  };
  std::span<const PatternNode> nodes() const { return nodes_; }  // in the order of the graph
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

// One pattern per method of the text.
Result<std::vector<Pattern>> parse_patterns(std::string_view text, const std::string& file_name = "<pattern>",
                                            const std::shared_ptr<const OpTable>& ops = torch_ops());

}  // namespace depute

#pragma GCC visibility pop
