#include "xnnpack_partitioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "partition/propose_partitions.h"
#include "xnnpack_backend.h"

namespace depute::xnnpack {
namespace {

// The runtime's flatbuffer verifier counts a million tables at most; a node and its values take about ten.
constexpr std::uint32_t max_region_nodes = 50'000;
// The runtime refuses more arguments and results than this.
constexpr std::size_t max_externals = 4096;
constexpr int max_rounds = 4;

constexpr std::string_view kept_ops[] = {
    "aten.elu.default",       "aten.gelu.default",   "aten.hardsigmoid.default",
    "aten.hardswish.default", "aten.linear.default", "aten.max_pool2d.default",
    "aten.prelu.default",     "aten.silu.default",   "aten.upsample_bilinear2d.vec",
};

constexpr std::pair<std::string_view, RegionMode> modes[] = {
    {"settled", RegionMode::Settled},
    {"fx", RegionMode::Fx},
    {"earliest", RegionMode::Earliest},
    {"connected", RegionMode::Connected},
};

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('+', start), text.size());
    if (end > start) names.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return names;
}

// Connected pieces of regions. A piece that computes nothing is not worth a delegate.
class Islands {
 public:
  explicit Islands(const std::vector<std::pair<const Node*, Symbol>>& node_tags) : node_tags_(node_tags) {
    parent_.resize(node_tags.size());
    std::iota(parent_.begin(), parent_.end(), 0);
    for (std::uint32_t i = 0; i < node_tags.size(); ++i) index_[node_tags[i].first] = i;
    for (const auto& [node, tag] : node_tags) {
      for (std::size_t i = 0; i < node->operand_count(); ++i) {
        auto found = index_.find(node->operand(i)->producer());
        if (found != index_.end() && node_tags[found->second].second == tag)
          join(index_[node], found->second);
      }
    }
  }

  std::vector<const Node*> without_compute() {
    std::vector<bool> computes(parent_.size(), false);
    for (std::uint32_t i = 0; i < parent_.size(); ++i) {
      if (find_op_rule(node_tags_[i].first->op())->op_class == OpClass::Compute) computes[root(i)] = true;
    }
    std::vector<const Node*> nodes;
    for (std::uint32_t i = 0; i < parent_.size(); ++i) {
      if (!computes[root(i)]) nodes.push_back(node_tags_[i].first);
    }
    return nodes;
  }

 private:
  std::uint32_t root(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[root(a)] = root(b); }

  const std::vector<std::pair<const Node*, Symbol>>& node_tags_;
  std::unordered_map<const Node*, std::uint32_t> index_;
  std::vector<std::uint32_t> parent_;
};

// The most arguments and results of any region.
std::size_t most_externals(const PartitionResult& result) {
  std::unordered_map<const Node*, Symbol> tags(result.node_tags.begin(), result.node_tags.end());
  std::unordered_map<Symbol, std::unordered_set<const Value*>> externals;
  for (const auto& [node, tag] : result.node_tags) {
    for (std::size_t i = 0; i < node->operand_count(); ++i) {
      const Value* value = node->operand(i);
      auto producer = tags.find(value->producer());
      if (producer == tags.end() || producer->second != tag) externals[tag].insert(value);
    }
    for (const Value* value : node->results()) {
      for (const Use& use : value->uses()) {
        auto user = tags.find(use.user);
        if (user == tags.end() || user->second != tag) externals[tag].insert(value);
      }
    }
  }
  std::size_t most = 0;
  for (const auto& [tag, values] : externals) most = std::max(most, values.size());
  return most;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> option_meanings() {
  return {{"exclude", "ops that stay on ExecuTorch's kernels, joined by '+': gelu+aten.mul.Tensor"},
          {"layer_norm", "true: take native_layer_norm by its parts (default: false)"},
          {"mode", "how regions grow: settled (default), fx, earliest, connected"}};
}

Result<std::unique_ptr<Partitioner>> XnnpackPartitioner::make(const BackendOptions& options) {
  auto partitioner = std::make_unique<XnnpackPartitioner>();
  for (const auto& [key, value] : options) {
    if (key == "exclude") {
      partitioner->options_.excluded = split_names(value);
    } else if (key == "layer_norm" && (value == "true" || value == "false")) {
      partitioner->options_.layer_norm = value == "true";
    } else if (key == "mode") {
      auto mode = std::ranges::find(modes, value, [](const auto& known) { return known.first; });
      if (mode == std::end(modes)) {
        return error("usage", "--backend xnnpack", fmt::format("unknown mode '{}'", value),
                     "settled, fx, earliest or connected");
      }
      partitioner->mode_ = mode->second;
    } else {
      return error("usage", "--backend xnnpack", fmt::format("unknown option '{}={}'", key, value),
                   "`depute backends xnnpack` lists the options");
    }
  }
  return partitioner;
}

OpsToNotDecompose XnnpackPartitioner::ops_to_not_decompose(const Program&) const {
  OpsToNotDecompose kept;
  for (std::string_view op : kept_ops) kept.ops.emplace_back(op);
  kept.filter = [options = options_](const Node& node) { return !check_node({options}, node).has_value(); };
  return kept;
}

// Regions are grown anew without the islands that compute nothing, and smaller while one has too many
// externals.
Result<PartitionResult> XnnpackPartitioner::partition(const Program& program, const Method& method) const {
  const QueryContext context{options_, &program, &method};
  std::unordered_set<const Node*> useless;
  auto support = [&](const Node& node) -> NodeSupport {
    if (Check refusal = check_node(context, node))
      return refuse(refusal->rule, refusal->seen, refusal->allowed);
    if (useless.contains(&node))
      return refuse("no-compute", "moves or relabels elements beside no computation");
    return find_op_rule(node.op())->op_class == OpClass::Relabel ? take_if_useful() : take();
  };
  ProposeOptions propose{
      .owner = "xnnpack", .spec = {std::string(backend_id), {}}, .regions = {}, .groups = {}};
  propose.regions.mode = mode_;
  propose.regions.max_nodes = max_region_nodes;
  PartitionResult result = propose_partitions(method, support, propose);
  for (int round = 1; round < max_rounds; ++round) {
    const std::vector<const Node*> found = Islands(result.node_tags).without_compute();
    if (found.empty()) break;
    useless.insert(found.begin(), found.end());
    result = propose_partitions(method, support, propose);
  }
  while (most_externals(result) > max_externals && propose.regions.max_nodes > 1) {
    propose.regions.max_nodes /= 2;
    result = propose_partitions(method, support, propose);
  }
  return result;
}

}  // namespace depute::xnnpack
