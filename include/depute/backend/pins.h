// Pins restrict the nodes that a backend may take, by name, module or op. Users write them as backend
// options:
//
//   --backend xnnpack:only=features.*            only nodes of the module `features` and its submodules
//   --backend xnnpack:off=node:relu_1            all nodes but the one that defines %relu_1
//   --backend xnnpack:off=op:gelu,off=name:attn_.*_mask
//
//   module:PATH   nodes of the module PATH and its submodules; also written PATH or PATH.*
//   node:NAME     the node that defines the value NAME
//   name:REGEX    nodes that define a value whose whole name matches REGEX (ECMAScript, without counts and
//                 back references)
//   op:OP         nodes whose op, or whose op in the user's program, contains the dotted parts OP:
//                 gelu, add, add.Tensor, aten.add.Tensor
//
// With `only`, all nodes that no `only` selects are pinned (excluded); `off` pins the nodes it selects.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

inline constexpr std::size_t max_pin_regex = 256;  // characters

// Selects nodes by module, name or op.
class NodeSelector {
 public:
  static Result<NodeSelector> parse(std::string_view text);
  bool selects(const Node& node) const;
  const std::string& text() const { return text_; }
  // True if it is no error that this selector selects no node: the op table knows its op. One list of pins
  // can thus serve many models.
  bool may_select_nothing() const;
  // Returns a hint with the most similar name in the program ("did you mean relu?"), or `otherwise` if there
  // is none.
  std::string meant_name(const Program& program, std::string_view otherwise) const;

 private:
  enum class Kind : std::uint8_t { Module, Node, Name, Op };
  NodeSelector(Kind kind, std::string_view pattern, std::string_view text)
      : kind_(kind), pattern_(pattern), text_(text) {}

  Kind kind_;
  std::string pattern_;
  std::string text_;                                    // as written by the user
  std::function<bool(std::string_view)> matches_name_;  // only for Kind::Name
};

class Pins {
 public:
  enum class Rule : std::uint8_t { Only, Off };
  Status add(Rule rule, std::string_view selector);
  bool empty() const { return only_.empty() && off_.empty(); }

  // Returns the pin that excludes a node ("off=op:gelu"), or nullopt if the node may be taken. A control-flow
  // node is excluded if an `off` pin selects a node in its bodies.
  std::optional<std::string> pin_of(const Node& node) const;

  // Fails for the first selector that selects no node of any method, including nodes already delegated.
  Status check_known(const Program& program) const;

 private:
  std::optional<std::string> off_pin_of(const Node& node) const;

  std::vector<NodeSelector> only_;
  std::vector<NodeSelector> off_;
};

}  // namespace depute

#pragma GCC visibility pop
