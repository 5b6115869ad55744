// What a partitioner answers: a tag per node, the backend of each tag, and why the other nodes stay.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "depute/program.h"
#include "depute/region_options.h"

#pragma GCC visibility push(default)

namespace depute {

struct DelegationSpec {
  std::string backend_id = {};
  std::vector<CompileSpec> compile_specs = {};
  friend bool operator==(const DelegationSpec&, const DelegationSpec&) = default;
};

// Why a node is or is not delegated. `rule` is from a closed vocabulary per backend ("dtype", "rank",
// "static-weight", ...).
struct Verdict {
  bool delegated = false;
  std::string owner = {};    // backend name when delegated; else empty
  std::string rule = {};     // id of the rule that refused, empty when delegated
  std::string seen = {};     // the value seen: "i64"
  std::string allowed = {};  // the values allowed: "f32, f16"
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// The options that plan_together() drew a partition by. why_apart() names the one that keeps two apart.
struct PartitionPlan {
  RegionMode mode = RegionMode::Settled;
  Horizontal horizontal = Horizontal::All;
  std::uint32_t max_nodes = std::numeric_limits<std::uint32_t>::max();
  bool is_cut_by_values = false;  // max_nodes follows from ProposeOptions::max_values
  bool is_isolated = false;       // a set of ProposeOptions::apart
};

struct PartitionResult {
  std::map<Symbol, DelegationSpec, SymbolTextLess> partition_tags;
  // Tag by node, for nodes of the method's graph and its bodies. Untagged nodes stay with the portable
  // runtime; those in the bodies of a tagged control-flow node go with it. Graphs in the order of
  // walk_graphs (ir/walk.h), nodes in graph order.
  std::vector<std::pair<const Node*, Symbol>> node_tags;
  // Constants, and buffers with their mutation, that move into the delegate with that tag. Constants used by
  // several tags are listed once for each.
  std::vector<std::pair<const Value*, Symbol>> constant_tags;
  // Constants that may lie in one place only: moving one that other tags, or untagged nodes, use too is
  // refused. Others are copied, which costs a view and no bytes.
  std::vector<const Value*> no_copy;
  // Why nodes are delegated or not, each node once. Tags decide: a node without a verdict, or with one that
  // contradicts its tag, gets one that follows from the tag.
  std::vector<std::pair<const Node*, Verdict>> verdicts;
  // By tag, for partitions of plan_together(); other partitioners leave it empty.
  std::unordered_map<Symbol, PartitionPlan> plans;
};

}  // namespace depute

#pragma GCC visibility pop
