// Ready-made partitioners. All but TaggedPartitioner make a Proposal (docs/partitioners.md).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/api.h"
#include "depute/backend/partitioner.h"
#include "depute/backend/pattern.h"

namespace depute {

// --- nodes that a function, or a rule per op, accepts, in as few regions as possible
//
//   CapabilityPartitioner(support_by_op({{"aten.relu.default", {}},
//                                        {"aten.add.Tensor", check_add}}),
//                         {.owner = "mine", .spec = {"MyBackend", {}}, .regions = {.mode = RegionMode::Fx}})

// An op that the backend supports if `check` accepts the node, or always if `check` is empty.
struct OpSupport {
  std::string op = {};
  SupportFunction check = {};
};

// Rejects ops without a rule, with the rule name "op". If an op has several rules, the first one counts.
DEPUTE_API SupportFunction support_by_op(std::vector<OpSupport> rules);

struct DEPUTE_API CapabilityPartitioner : ProposalPartitioner {
  // `options` must not contain groups, because nodes are not known yet.
  CapabilityPartitioner(SupportFunction support, ProposeOptions options)
      : ProposalPartitioner(Proposal{std::move(support), std::move(options)}) {}
};
using CapabilityBasedPartitioner = CapabilityPartitioner;

// --- the whole program: everything between inputs and outputs, including constants, state and bodies

struct DEPUTE_API WholeProgramPartitioner : ProposalPartitioner {
  // Makes one delegate without checking support, so the backend must accept every node. Also takes calls of
  // earlier backends' delegates and unused constants.
  WholeProgramPartitioner(std::string owner, DelegationSpec spec);
};
using AllNodePartitioner = WholeProgramPartitioner;

// --- groups of nodes, each as a whole or not at all, and optionally other nodes
//
//   GroupPartitioner(groups_by_name({{"dequant", "conv", "quant"}}), {.owner = "mine", .spec = {"Mine", {}}})
//
//   dequant -> conv -> quant -> tan -> relu       mine0: dequant conv quant
//
// Groups that depend on each other or are neighbors share a region (RegionMode::Apart separates neighbors). A
// group that encloses a node that is not taken is rejected, with the path as the reason.

using NodeGroups = std::vector<std::vector<const Node*>>;
using GroupFunction = std::function<Result<NodeGroups>(const Program&, const Method&)>;

// Returns a function that makes groups from names of nodes (of any result). Each group is looked up in the
// first graph of the method that has all of its names. Groups of other methods are skipped. Fails for names
// that do not exist in any method.
DEPUTE_API GroupFunction groups_by_name(std::vector<std::vector<std::string>> names);

struct DEPUTE_API GroupPartitioner : ProposalPartitioner {
  // `support` decides about nodes outside groups; without it, these are rejected with the rule "no-group".
  // Fails if a node is in two groups.
  GroupPartitioner(GroupFunction groups, ProposeOptions options, SupportFunction support = {});
};
using GroupBasedPartitioner = GroupPartitioner;

// --- matches of patterns (pattern.h), each as a whole or not at all
//
//   DEPUTE_TRY(auto patterns, parse_patterns(text));
//   PatternPartitioner partitioner(std::move(patterns), {.owner = "mine", .spec = {"MyBackend", {}}});
//
// Neighboring matches share a region; with RegionMode::Apart each match is a separate partition. Control-flow
// bodies are searched, too. Nodes outside all matches are rejected with the rule "pattern".

// Returns false to reject a match for reasons that a pattern cannot express.
using AcceptMatch = std::function<bool(const Pattern& pattern, const PatternMatch& match)>;

struct DEPUTE_API PatternPartitioner : ProposalPartitioner {
  PatternPartitioner(std::vector<Pattern> patterns, ProposeOptions options, AcceptMatch accept = {});
};

// --- nodes that small objects accept: one per op decides which nodes to take and which neighbors go with
// them, so that rules of different ops stay in separate files
//
//   class ConvolutionConfig : public OpConfig {
//    public:
//     std::string_view op() const override { return "aten.convolution.default"; }
//     NodeSupport check(const Program&, const Method&, const Node& node) const override { return take(); }
//     void add_neighbors(const Node& node, std::vector<const Node*>& nodes) const override {
//       add_producers(node, "quantized_decomposed.dequantize_per_tensor.default", nodes);
//     }
//   };
//
//   dequantize -> conv -> relu          one group: {dequantize conv}
//
// A node and its neighbors are taken together or not at all. Groups that share a node are merged. Constants
// are values, not nodes, so sharing a constant does not merge groups.

class DEPUTE_API OpConfig {
 public:
  virtual ~OpConfig() = default;
  virtual std::string_view op() const = 0;
  // Decides whether this node, a call of op(), is taken.
  virtual NodeSupport check(const Program&, const Method&, const Node&) const { return take(); }
  // Appends the neighbors that must be taken together with `node`.
  virtual void add_neighbors(const Node&, std::vector<const Node*>&) const {}
  // True if this node, a call of op(), must not be decomposed before partitioning.
  virtual bool keeps_whole(const Node&) const { return false; }
};

struct DEPUTE_API ConfigPartitioner : ProposalPartitioner {
  // partition() fails if two configs have the same op.
  ConfigPartitioner(std::vector<std::unique_ptr<OpConfig>> configs, ProposeOptions options);
};

// Appends the nodes with this op that compute an operand of `node`, in operand order, each once.
DEPUTE_API void add_producers(const Node& node, std::string_view op, std::vector<const Node*>& nodes);

// Returns the only node that uses the node's results; null if there are several, or the graph returns one.
DEPUTE_API const Node* only_user(const Node& node);

// Appends the only user if it has this op.
DEPUTE_API void add_only_user(const Node& node, std::string_view op, std::vector<const Node*>& nodes);

// Merges sets of nodes of one graph that share a node. No set is empty. Keeps the given order, without
// duplicates.
DEPUTE_API NodeGroups united(const Graph& graph, const NodeGroups& sets);

// --- tags in the program (`!tag` in the text form), for hand-drawn partitions

// A tagged control-flow node includes its bodies; in other bodies, tags apply as in any graph.
class DEPUTE_API TaggedPartitioner : public Partitioner {
 public:
  // Each tag becomes a partition with this spec. A constant moves into each tag that uses it.
  explicit TaggedPartitioner(DelegationSpec spec) : spec_(std::move(spec)) {}
  Result<PartitionResult> partition(const Program& program, const Method& method) const override;

 private:
  DelegationSpec spec_;
};

// --- several backends at once: one PartitionResult with the tags of all backends
//
//   return plan_jointly(program, method, std::vector<Proposal>{gpu, cpu});
//
//   gpu0, cpu0, gpu1, ...: each node with the first backend that takes it
//
// Joint planning needs fewer partitions than lowering for one backend after another, because a region can
// wait for results of another backend's region. Tags and verdicts are those of propose_partitions().

// `proposals` are in order of priority. Fails if there are none, and in the cases where propose_partitions()
// fails.
DEPUTE_API Result<PartitionResult> plan_jointly(const Program& program, const Method& method,
                                                std::span<const Proposal> proposals);

// Several partitioners combined into one, in order of priority. Each must return a proposal.
class DEPUTE_API SeveralPartitioners : public Partitioner {
 public:
  explicit SeveralPartitioners(std::vector<std::shared_ptr<const Partitioner>> partitioners)
      : partitioners_(std::move(partitioners)) {}

  // Union of the ops that the partitioners want to see undecomposed.
  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override;
  Result<PartitionResult> partition(const Program& program, const Method& method) const override;

 private:
  std::vector<std::shared_ptr<const Partitioner>> partitioners_;
};

}  // namespace depute
