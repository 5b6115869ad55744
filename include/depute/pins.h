// Pins: which nodes a backend may take at all, by name, module or op. Users set them beside a backend:
//
//   --backend xnnpack:only=features.*            only the module features and what is in it
//   --backend xnnpack:off=node:relu_1            never that node
//   --backend xnnpack:off=op:gelu,off=name:attn_.*_mask
//
//   module:PATH   the module of that path and those in it; a bare PATH and a trailing .* say the same
//   node:NAME     the node with a result of that name
//   name:REGEX    nodes with a result whose whole name matches (ECMAScript, no counts or back references)
//   op:OP         nodes whose op, or the op the user's program called, has these parts: gelu,
//                 aten.add.Tensor, add
//
// With `only`, nodes that none of them selects are pinned; `off` pins what it selects.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

inline constexpr std::size_t max_pin_regex = 256;  // characters

// One way to choose nodes.
class NodeSelector {
 public:
  static Result<NodeSelector> parse(std::string_view text);
  bool selects(const Node& node) const;
  const std::string& text() const { return text_; }
  // Ops may be missing in a program if the op table knows them: one list of pins then serves many models.
  bool may_select_nothing() const;
  // The one of the program's names that was meant, where it selects nothing: "did you mean relu?"; else
  // `otherwise`.
  std::string meant_name(const Program& program, std::string_view otherwise) const;

 private:
  enum class Kind : std::uint8_t { Module, Node, Name, Op };
  NodeSelector(Kind kind, std::string_view pattern, std::string_view text)
      : kind_(kind), pattern_(pattern), text_(text) {}

  Kind kind_;
  std::string pattern_;
  std::string text_;                                    // as it was written
  std::function<bool(std::string_view)> matches_name_;  // of Name alone
};

class Pins {
 public:
  enum class Rule : std::uint8_t { Only, Off };
  Status add(Rule rule, std::string_view selector);
  bool empty() const { return only_.empty() && off_.empty(); }

  // The pin that keeps a node from being taken ("off=op:gelu"); nothing if it may be taken. A control-flow
  // node may not be taken whole when an `off` pin selects a node in its bodies.
  std::optional<std::string> pin_of(const Node& node) const;

  // An error for the first selector that selects no node of any method, nor of delegates that were made of
  // some.
  Status check_known(const Program& program) const;

 private:
  std::optional<std::string> off_pin_of(const Node& node) const;

  std::vector<NodeSelector> only_;
  std::vector<NodeSelector> off_;
};

}  // namespace depute

#pragma GCC visibility pop
