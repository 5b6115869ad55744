// FilteredPartitioner: applies the user's controls (pins and region options) to any partitioner.
//
//   // Removes the options of the filter from `options`.
//   DEPUTE_TRY(PartitionControls controls, take_partition_controls("xnnpack", options));
//   DEPUTE_TRY(auto partitioner, make_partitioner(entry, options));
//   partitioner = filtered(std::move(partitioner), std::move(controls));
//
// Pinned nodes are rejected with the rule "pinned" before regions grow, so all resulting regions are valid. A
// group with a pinned node is rejected as a whole. A partitioner without a proposal gets a copy of the
// program whose pinned nodes have an op unknown to every backend.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/backend/partitioner.h"
#include "depute/backend/pins.h"

#pragma GCC visibility push(default)

namespace depute {

struct PartitionControls {
  Pins pins;
  // Replace the partitioner's own region options.
  std::optional<RegionMode> mode;
  std::optional<Horizontal> horizontal;
  std::optional<std::uint32_t> min_nodes;
  std::optional<std::uint32_t> max_nodes;

  bool shapes_regions() const { return mode || horizontal || min_nodes || max_nodes; }
  bool empty() const { return pins.empty() && !shapes_regions(); }
};

// Options of `--backend NAME:key=value,...`.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

// Removes the options common to all backends from `options` and returns them. Fails for an invalid value,
// naming `backend`.
Result<PartitionControls> take_partition_controls(std::string_view backend, KeyValues& options);

// Keys and meanings of these options, for `depute backends`.
std::vector<std::pair<std::string, std::string>> partition_control_meanings();

class FilteredPartitioner : public Partitioner {
 public:
  FilteredPartitioner(std::unique_ptr<Partitioner> inner, PartitionControls controls)
      : inner_(std::move(inner)), controls_(std::move(controls)) {}

  // Forwards to the inner partitioner. Ops that pins exclude are decomposed later, with the other undelegated
  // nodes.
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

// Wraps the partitioner; returns it unchanged if `controls` is empty.
std::unique_ptr<Partitioner> filtered(std::unique_ptr<Partitioner> partitioner, PartitionControls controls);

}  // namespace depute

#pragma GCC visibility pop
