// FilteredPartitioner: any partitioner under the user's controls: pins, and how regions grow.
//
//   DEPUTE_TRY(PartitionControls controls, take_partition_controls("xnnpack", options));  // takes out what it knows
//   DEPUTE_TRY(auto partitioner, make_partitioner(entry, options));
//   partitioner = filtered(std::move(partitioner), std::move(controls));
//
// Pinned nodes are refused with the rule "pinned", before regions grow, so the rest is valid as ever. A group
// with a pinned node is no group: its other nodes are refused with it. A partitioner that makes no proposal
// is shown a copy of the program in which pinned nodes have an op that no backend knows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/partitioner.h"
#include "depute/pins.h"

#pragma GCC visibility push(default)

namespace depute {

struct PartitionControls {
  Pins pins;
  // Instead of what the partitioner chose.
  std::optional<RegionMode> mode;
  std::optional<Horizontal> horizontal;
  std::optional<std::uint32_t> min_nodes;
  std::optional<std::uint32_t> max_nodes;

  bool shapes_regions() const { return mode || horizontal || min_nodes || max_nodes; }
  bool empty() const { return pins.empty() && !shapes_regions(); }
};

// Options as `--backend NAME:key=value,...` has them.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

// Takes the options that every backend has out of `options`. A bad value is an error that names `backend`.
Result<PartitionControls> take_partition_controls(std::string_view backend, KeyValues& options);

// Their keys and meanings, for `depute backends`.
std::vector<std::pair<std::string, std::string>> partition_control_meanings();

class FilteredPartitioner : public Partitioner {
 public:
  FilteredPartitioner(std::unique_ptr<Partitioner> inner, PartitionControls controls)
      : inner_(std::move(inner)), controls_(std::move(controls)) {}

  // As the inner one: ops that pins keep from it are decomposed once they are left over.
  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override {
    return inner_->ops_to_not_decompose(program);
  }
  Result<PartitionResult> partition(const Program& program, const Method& method) const override;
  Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const override;
  bool asks_elsewhere() const override { return inner_->asks_elsewhere(); }

 private:
  void apply(Proposal& proposal) const;
  Result<PartitionResult> partition_masked(const Program& program, const Method& method) const;

  std::unique_ptr<Partitioner> inner_;
  PartitionControls controls_;
};

// The partitioner itself when there is nothing to control.
std::unique_ptr<Partitioner> filtered(std::unique_ptr<Partitioner> partitioner, PartitionControls controls);

}  // namespace depute

#pragma GCC visibility pop
