// Applies the user's pins and region options to any partitioner.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "depute/backend/pins.h"
#include "partition/check_groups.h"
#include "partition/masked_program.h"
#include "support/try.h"

namespace depute {
namespace {

NodeSupport refuse_pinned(std::string_view pin) {
  return refuse("pinned", pin);
}

// Removes groups that contain a pinned node. All nodes of such a group are refused.
std::unordered_map<const Node*, NodeSupport> drop_pinned_groups(const Pins& pins, ProposeOptions& options) {
  std::unordered_map<const Node*, NodeSupport> refused;
  std::erase_if(options.groups, [&](const std::vector<const Node*>& group) {
    const auto pinned =
        std::ranges::find_if(group, [&](const Node* node) { return pins.pin_of(*node).has_value(); });
    if (pinned == group.end()) return false;
    for (const Node* node : group)
      refused.emplace(node, refuse("group", fmt::format("%{} is pinned", (*pinned)->display_name())));
    return true;
  });
  return refused;
}

class FilteredPartitioner : public Partitioner {
 public:
  FilteredPartitioner(std::unique_ptr<Partitioner> inner, PartitionControls controls)
      : inner_(std::move(inner)), controls_(std::move(controls)) {}

  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override {
    return inner_->ops_to_not_decompose(program);
  }
  Result<PartitionResult> partition(const Program& program, const Method& method) const override;
  Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const override;
  bool is_remote() const override { return inner_->is_remote(); }

 private:
  void apply(Proposal& proposal) const;
  Result<PartitionResult> partition_masked(const Program& program, const Method& method) const;

  std::unique_ptr<Partitioner> inner_;
  PartitionControls controls_;
};

Result<PartitionResult> FilteredPartitioner::partition(const Program& program, const Method& method) const {
  TRY(std::optional<Proposal> proposed, proposal(program, method));
  if (proposed) return propose_partitions(program, method, *proposed);
  if (controls_.shapes_regions()) {
    return failure("partition", method.name.str(),
                   "the partitioner forms its own partitions: mode, merge_unconnected, min_nodes and "
                   "max_nodes do not apply");
  }
  return partition_masked(program, method);
}

Result<std::optional<Proposal>> FilteredPartitioner::proposal(const Program& program,
                                                              const Method& method) const {
  TRY_STATUS(controls_.pins.check_known(program));
  TRY(std::optional<Proposal> proposed, inner_->proposal(program, method));
  if (!proposed) return proposed;
  TRY_STATUS(check_groups(method, proposed->options.groups));
  apply(*proposed);
  return proposed;
}

void FilteredPartitioner::apply(Proposal& proposal) const {
  RegionOptions& regions = proposal.options.regions;
  regions.mode = controls_.mode.value_or(regions.mode);
  regions.merge_unconnected = controls_.merge_unconnected.value_or(regions.merge_unconnected);
  regions.min_nodes = controls_.min_nodes.value_or(regions.min_nodes);
  if (controls_.max_nodes) regions.max_nodes = std::min(regions.max_nodes, *controls_.max_nodes);
  if (controls_.pins.empty()) return;
  proposal.support = [pins = controls_.pins, refused = drop_pinned_groups(controls_.pins, proposal.options),
                      inner = std::move(proposal.support)](const Node& node) {
    if (auto pin = pins.pin_of(node)) return refuse_pinned(*pin);
    auto found = refused.find(&node);
    return found == refused.end() ? inner(node) : found->second;
  };
}

Result<PartitionResult> FilteredPartitioner::partition_masked(const Program& program,
                                                              const Method& method) const {
  TRY_STATUS(controls_.pins.check_known(program));
  std::unordered_map<const Node*, std::string> pins;
  MaskedProgram masked(program, method, [&](const Node& node) {
    auto pin = controls_.pins.pin_of(node);
    if (pin) pins.emplace(&node, *pin);
    return pin.has_value();
  });
  TRY(PartitionResult result, inner_->partition(masked.program(), masked.method()));
  TRY(result, masked.unmask(std::move(result)));
  for (auto& [node, verdict] : result.verdicts) {
    if (auto pin = pins.find(node); pin != pins.end()) verdict = refuse_pinned(pin->second).refusal;
  }
  return result;
}

}  // namespace

std::unique_ptr<Partitioner> filtered(std::unique_ptr<Partitioner> partitioner, PartitionControls controls) {
  if (controls.empty()) return partitioner;
  return std::make_unique<FilteredPartitioner>(std::move(partitioner), std::move(controls));
}

}  // namespace depute
