// Partitioner: assigns nodes to backends by tagging them. Names are those of ExecuTorch.
//
// A partitioner reads a Method of a Program and returns a PartitionResult: a tag per node and, for each tag,
// the DelegationSpec of its backend. Nodes with the same tag become one delegate. A partitioner never edits
// the program. Each node finally has exactly one Verdict, which explains why it was or was not delegated.
//
// Most partitioners make a Proposal (proposal.h) and leave the regions to propose_partitions(). A
// ProposalPartitioner is such a partitioner made from a function, or from one proposal for all methods:
//
//   const auto support = [](const Node& node) {
//     return node.op() == "aten.relu.default" ? take() : refuse("op", node.op().str());
//   };
//   ProposalPartitioner partitioner(
//       Proposal{.support = support, .options = {.owner = "mine", .spec = {"MyBackend", {}}}});
//
// partitioners.h and docs/partitioners.md have the ready-made ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "depute/api.h"
#include "depute/backend/proposal.h"
#include "depute/program/op.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// The options that plan_jointly() drew a partition by. find_splits() names the option that separates two
// partitions.
struct PartitionPlan {
  RegionMode mode = RegionMode::Settled;
  bool merge_unconnected = true;
  std::uint32_t max_nodes = std::numeric_limits<std::uint32_t>::max();
  bool is_cut_by_values = false;  // max_nodes follows from ProposeOptions::max_values
  bool is_isolated = false;       // a set of ProposeOptions::isolated_sets
};

struct PartitionResult {
  std::map<Name, DelegationSpec, SymbolTextLess> partition_tags;
  // Tag per node, for nodes of the method's graph and its bodies. Untagged nodes run on the portable runtime;
  // nodes in the bodies of a tagged control-flow node belong to its tag. Graphs are in the order of
  // walk_graphs (walk.h), nodes in graph order.
  std::vector<std::pair<const Node*, Name>> node_tags;
  // Constants, and buffers with their mutation, that move into the delegate of a tag. A constant used by
  // several tags is listed once for each.
  std::vector<std::pair<const Value*, Name>> constant_tags;
  // Constants that must not be copied: to_backend() fails if one moves into a delegate and has users
  // elsewhere. Other constants are copied, which copies a view but no bytes.
  std::vector<const Value*> no_copy;
  // Reasons, each node at most once. Tags are decisive: a node without a verdict, or with one that
  // contradicts its tag, gets a verdict derived from the tag.
  std::vector<std::pair<const Node*, Verdict>> verdicts;
  // By tag, for partitions of plan_jointly(); other partitioners leave it empty.
  std::unordered_map<Name, PartitionPlan> plans;
};

class DEPUTE_API Partitioner {
 public:
  virtual ~Partitioner() = default;
  // Returns the ops that normalization must leave whole until this partitioner has run.
  virtual OpsToNotDecompose ops_to_not_decompose(const Program& program) const {
    (void)program;
    return {};
  }
  // Returns a tag per node and the reasons for the other nodes. Must be deterministic; must not change the
  // program.
  virtual Result<PartitionResult> partition(const Program& program, const Method& method) const = 0;

  // Returns the proposal from which partition() makes its result, or nullopt if the partitioner works
  // differently. Partitioners with a proposal can be combined by plan_jointly().
  virtual Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const {
    (void)program;
    (void)method;
    return std::nullopt;
  }

  // True if partition() runs in another process, on a copy. It cannot modify the program, so to_backend()
  // does not check.
  virtual bool is_remote() const { return false; }
};

// --- proposals

// Makes a PartitionResult from a function that says which nodes the backend can take.
//
// Calls `support` once per node, grows regions (docs/regions.md), tags them owner0, owner1, ... in graph
// order, moves the constants they use, and gives every node a verdict. Control-flow bodies are separate
// graphs, visited in the order of walk_graphs (walk.h); tag numbers continue over them. A taken control-flow
// node includes its bodies: their nodes get verdicts, but no tags.
//
// Calls of earlier backends' delegates are rejected without calling `support`, unless take_delegates is set.
// Additional rules in verdicts:
//
//   no-compute   a neutral node that no region needs, or a node of an island without gain
//   too-small    a node of an island with fewer nodes than RegionOptions::min_nodes
//   not-worth    a node of an island whose gain is below its DelegateCost
//   group        a node of a group that cannot be taken as a whole
//   delegated    a call of a delegate
//   several      a node that several owners rejected for different reasons (plan_jointly())
//
// Fails only for invalid groups and for a proposal without a support function.
DEPUTE_API Result<PartitionResult> propose_partitions(const Program& program, const Method& method,
                                                      const Proposal& proposal);
DEPUTE_API Result<PartitionResult> propose_partitions(const Program& program, const Method& method,
                                                      SupportFunction support, ProposeOptions options);

// Makes the proposal for one method.
using ProposalFunction = std::function<Result<Proposal>(const Program&, const Method&)>;
using OpsToNotDecomposeFunction = std::function<OpsToNotDecompose(const Program&)>;

class DEPUTE_API ProposalPartitioner : public Partitioner {
 public:
  explicit ProposalPartitioner(ProposalFunction propose, OpsToNotDecomposeFunction ops_to_not_decompose = {})
      : propose_(std::move(propose)), ops_to_not_decompose_(std::move(ops_to_not_decompose)) {}
  // Makes the same proposal for every method. It must not contain nodes (groups), which are not known yet.
  explicit ProposalPartitioner(Proposal proposal)
      : propose_([proposal = std::move(proposal)](const Program&, const Method&) { return proposal; }) {}

  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override;
  Result<PartitionResult> partition(const Program& program, const Method& method) const override;
  Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const override;

 private:
  ProposalFunction propose_;
  OpsToNotDecomposeFunction ops_to_not_decompose_;
};

// --- data, for partitioners that fill a result by themselves

// Tags each constant with all tags of its users. It also stays in the method if an untagged node uses it.
// Adds no duplicates to result.constant_tags.
DEPUTE_API void tag_constant_data(const Method& method, PartitionResult& result);

// A mutated buffer that stays in the method, and the reason.
struct StayingBuffer {
  const Value* buffer = nullptr;
  std::string reason;  // "%a (mine0) reads it, %b (untagged) writes it"
};

// Moves a mutated buffer if all its readers and the producer of its new value have one tag, and no other
// method uses it. The delegate then holds the state; several steps in between (add, then mul) are one
// mutation. Returns the mutated buffers that stay, including buffers that only other methods mutate.
DEPUTE_API std::vector<StayingBuffer> tag_mutated_buffer(const Program& program, const Method& method,
                                                         PartitionResult& result);

// --- why a backend has several partitions in a graph instead of one
//
//   a -> tan -> b        "%a -> %tan -> %b: one partition with both would need its own result"
//
// Gives the reason for each partition and the next one of the same backend, in the order in which they can
// run. Paths follow from a result alone, whatever partitioner made it; the other reasons from
// PartitionResult::plans.

enum class SplitReason : std::uint8_t {
  Circle,   // a path from one to the other passes a node that the backend does not take
  OneMore,  // one partition for both would force more partitions in all
  Repeat,  // steps that repeat with the same constants are partitions of their own (ProposeOptions::isolated_sets)
  Limit,     // together they would be larger than max_nodes or max_values allow
  Mode,      // the options `mode` or `merge_unconnected`
  Backends,  // several backends are planned together, for few partitions and not the fewest
  Choice,    // possible; the partitioner drew them so
};

// Two partitions of one backend, and why they are not one. Names outlive the graphs.
struct Split {
  Name method;
  Name graph;  // control-flow body with both; empty: graph of the method
  Name first;  // tags; names of delegates in splits_of() (to_backend.h)
  Name second;
  SplitReason reason = SplitReason::Choice;
  // Circle: names of the nodes on the path. OneMore: a path to the later node that passes all partitions
  // before it. The middle of a long path is omitted.
  std::vector<Name> path = {};
  // OneMore: a path from the earlier node that passes all partitions after it.
  std::vector<Name> path_after = {};
  std::string text = {};
};

struct Splits {
  std::vector<Split> pairs;
  std::size_t omitted = 0;  // number of omitted pairs
};

// Limit on the pairs of a method, since a path can be as long as the graph. Repeats, which have no path, do
// not count.
inline constexpr std::size_t max_splits = 100;
inline constexpr std::size_t max_split_path = 64;  // nodes

// `result` is what a partitioner gave for `method`. Time is linear in the nodes and edges of the method, plus
// the lengths of the paths.
DEPUTE_API Splits find_splits(const Program& program, const Method& method, const PartitionResult& result);

}  // namespace depute
