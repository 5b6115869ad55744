// The user's controls of any partitioner: pins and region options, written as options of a backend.
//
// Pins restrict the nodes that a backend may take, by name, module or op:
//
//   --backend xnnpack:only=features.*            only nodes of the module `features` and its submodules
//   --backend xnnpack:off=node:relu_1            all nodes but the one that defines %relu_1
//   --backend xnnpack:off=op:gelu,off=name:attn_.*_mask
//
//   module:PATH   nodes of the module PATH and its submodules; also written PATH or PATH.*; the part * stands
//                 for any part: layers.*.mlp
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
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/api.h"
#include "depute/backend/partitioner.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

inline constexpr std::size_t max_pin_regex = 256;  // characters

// Selects nodes by module, name or op.
class DEPUTE_API NodeSelector {
 public:
  static Result<NodeSelector> parse(std::string_view text);
  bool selects(const Node& node) const;
  // True for an input of a method whose name is selected, or whose data are in the module: a parameter's or
  // buffer's `key` is empty for other inputs.
  bool selects_input(const Value& input, std::string_view key) const;
  // Includes nodes already delegated, and inputs of methods.
  bool selects_any(const Program& program) const;
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

class DEPUTE_API Pins {
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

// --- pins and region options, as a filter around any partitioner

struct PartitionControls {
  Pins pins;
  // Replace the partitioner's own region options.
  std::optional<RegionMode> mode;
  std::optional<bool> merge_unconnected;
  std::optional<std::uint32_t> min_nodes;
  std::optional<std::uint32_t> max_nodes;

  bool shapes_regions() const { return mode || merge_unconnected || min_nodes || max_nodes; }
  bool empty() const { return pins.empty() && !shapes_regions(); }
};

// Options of `--backend NAME:key=value,...`.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

// Removes the options common to all backends from `options` and returns them. Fails for an invalid value,
// naming `backend`.
DEPUTE_API Result<PartitionControls> take_partition_controls(std::string_view backend, KeyValues& options);

// Keys and meanings of these options, for `depute backends`.
DEPUTE_API std::vector<std::pair<std::string, std::string>> partition_control_meanings();

// Wraps the partitioner; returns it unchanged if `controls` is empty. Pinned nodes are rejected with the rule
// "pinned" before regions grow, so all resulting regions are valid. A group with a pinned node is rejected as a
// whole. A partitioner without a proposal gets a copy of the program whose pinned nodes have an op unknown to
// every backend. Ops that pins exclude are decomposed later, with the other undelegated nodes.
//
//   // Removes the options of the filter from `options`.
//   DEPUTE_TRY(PartitionControls controls, take_partition_controls("xnnpack", options));
//   DEPUTE_TRY(auto partitioner, make_partitioner(entry, options));
//   partitioner = filtered(std::move(partitioner), std::move(controls));
DEPUTE_API std::unique_ptr<Partitioner> filtered(std::unique_ptr<Partitioner> partitioner,
                                                 PartitionControls controls);

}  // namespace depute
