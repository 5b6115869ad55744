// ConfigPartitioner: one small object per op decides which nodes to take and which neighbors to take with
// them. Rules of different ops stay in separate files.
//
//   class ConvolutionConfig : public OpConfig {
//    public:
//     std::string_view op() const override { return "aten.convolution.default"; }
//     NodeSupport check(const Program&, const Method&, const Node& node) const override { return take(); }
//     void add_neighbors(const Node& node, std::vector<const Node*>& nodes) const override {
//       if (const Node* producer = node.operand(0)->producer()) nodes.push_back(producer);
//     }
//   };
//
//   dequantize -> conv -> relu          one group: {dequantize conv}
//
// A node and its neighbors are taken together or not at all. Groups that share a node are merged. Constants
// are values, not nodes, so sharing a constant does not merge groups.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "depute/backend/proposing_partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

class OpConfig {
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

class ConfigPartitioner : public ProposingPartitioner {
 public:
  // Fails if two configs have the same op.
  static Result<std::unique_ptr<ConfigPartitioner>> make(std::vector<std::unique_ptr<OpConfig>> configs,
                                                         ProposeOptions options);

  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override;

 protected:
  Result<Proposal> propose(const Program& program, const Method& method) const override;

 private:
  using Configs = std::unordered_map<Name, std::unique_ptr<OpConfig>>;
  ConfigPartitioner(Configs configs, ProposeOptions options)
      : configs_(std::make_shared<const Configs>(std::move(configs))), options_(std::move(options)) {}

  void add_groups(const Program& program, const Method& method, const Graph& graph, Proposal& proposal) const;

  std::shared_ptr<const Configs> configs_;  // shared, because proposals may outlive the partitioner
  ProposeOptions options_;
};

}  // namespace depute

#pragma GCC visibility pop
