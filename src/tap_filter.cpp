// Leaves nodes of taps out of partitions: refuses them in a proposal, and takes their tags away where a partitioner
// makes its own partitions. No node that is not of a tap reads them, so the rest of a partition stays valid.
//
//   xnnpack0: %h, %abs, %relu         xnnpack0: %h, %relu
//   %abs is in depute_taps.h     ->   %abs: "tap"
#include "tap_filter.h"

#include <utility>

#include "depute/compiler/taps.h"
#include "support/try.h"

namespace depute {
namespace {

NodeSupport refuse_tap() {
  return refuse("tap", "computes what a tap returns");
}

class TapFilter final : public Partitioner {
 public:
  explicit TapFilter(std::shared_ptr<const Partitioner> inner) : inner_(std::move(inner)) {}

  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override {
    return inner_->ops_to_not_decompose(program);
  }

  Result<PartitionResult> partition(const Program& program, const Method& method) const override {
    TRY(const std::optional<Proposal> proposed, proposal(program, method));
    if (proposed) return propose_partitions(program, method, *proposed);
    TRY(PartitionResult result, inner_->partition(program, method));
    const auto is_tagged_tap = [](const auto& tagged) {
      return tagged.first != nullptr && is_of_tap(*tagged.first);
    };
    std::erase_if(result.node_tags, is_tagged_tap);
    for (auto& [node, verdict] : result.verdicts)
      if (node != nullptr && is_of_tap(*node)) verdict = refuse_tap().refusal;
    return result;
  }

  Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const override {
    TRY(std::optional<Proposal> proposed, inner_->proposal(program, method));
    if (proposed && proposed->support)
      proposed->support = [inner = std::move(proposed->support)](const Node& node) {
        return is_of_tap(node) ? refuse_tap() : inner(node);
      };
    return proposed;
  }

  bool is_remote() const override { return inner_->is_remote(); }

 private:
  std::shared_ptr<const Partitioner> inner_;
};

}  // namespace

std::shared_ptr<const Partitioner> without_taps(std::shared_ptr<const Partitioner> partitioner) {
  return std::make_shared<const TapFilter>(std::move(partitioner));
}

}  // namespace depute
