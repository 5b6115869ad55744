#include "tests/text/tool/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/backend/partitioner.h"
#include "depute/backend/partitioners.h"
#include "depute/backend/pins.h"
#include "depute/backend/registry.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/text.h"
#include "depute/program/walk.h"
#include "partition/node_names.h"
#include "partition/tag_data.h"
#include "support/try.h"

namespace depute {
namespace {

using Options = std::map<std::string, std::string, std::less<>>;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string option(const Options& options, std::string_view name) {
  auto found = options.find(name);
  return found == options.end() ? std::string() : found->second;
}

bool has_op(const std::vector<std::string>& ops, const Node& node) {
  return std::ranges::any_of(ops, [&](const std::string& op) { return has_parts(node.op().str(), op); });
}

SupportFunction support(const Options& options, std::string_view take_option) {
  return [taken = split(option(options, take_option), '+'), neutral = split(option(options, "neutral"), '+'),
          free = split(option(options, "free"), '+')](const Node& node) {
    if (has_op(taken, node)) return take();
    if (has_op(neutral, node)) return take_if_useful();
    if (has_op(free, node)) return take(0);
    return refuse("op", node.op().str(), fmt::format("{}", fmt::join(taken, ", ")));
  };
}

ProposeOptions propose_options(const Options& options, std::string_view owner, std::string_view backend_id) {
  ProposeOptions propose{.owner = std::string(owner), .spec = {std::string(backend_id), {}}};
  if (options.contains("state")) propose.moved_data = MovedData::ConstantsAndState;
  if (options.contains("no-constants")) propose.moved_data = MovedData::None;
  if (const auto cost = split(option(options, "cost"), '+'); cost.size() == 2)
    propose.cost = {.launch = std::stoull(cost[0]), .per_kib = std::stoull(cost[1])};
  if (options.contains("max-values")) propose.max_values = std::stoull(option(options, "max-values"));
  return propose;
}

// All methods but the first, as patterns.
Result<std::vector<Pattern>> patterns_in(const Program& program) {
  Program patterns = clone(program);
  patterns.methods.erase(patterns.methods.begin());
  return parse_patterns(print(patterns));
}

Result<std::unique_ptr<Partitioner>> make_one(const Program& program, const Options& options) {
  ProposeOptions propose = propose_options(options, "mine", "Mine");
  if (options.contains("whole")) return std::make_unique<WholeProgramPartitioner>("mine", propose.spec);
  if (options.contains("tagged")) return std::make_unique<TaggedPartitioner>(propose.spec);
  if (options.contains("groups")) {
    std::vector<std::vector<std::string>> groups;
    for (const std::string& group : split(option(options, "groups"), ','))
      groups.push_back(split(group, '+'));
    return std::make_unique<GroupPartitioner>(groups_by_name(std::move(groups)), std::move(propose),
                                              options.contains("take") ? support(options, "take") : nullptr);
  }
  if (options.contains("patterns")) {
    TRY(std::vector<Pattern> patterns, patterns_in(program));
    return std::make_unique<PatternPartitioner>(std::move(patterns), std::move(propose));
  }
  return std::make_unique<CapabilityPartitioner>(support(options, "take"), std::move(propose));
}

// The partitioner under the controls.
Result<std::unique_ptr<Partitioner>> make_controlled(const Program& program, const Options& options) {
  KeyValues key_values;
  for (const std::string& text : split(option(options, "controls"), ',')) {
    const std::size_t equals = std::min(text.find('='), text.size() - 1);
    key_values.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  const std::string backend = option(options, "backend");
  TRY(PartitionControls controls, take_partition_controls(backend.empty() ? "mine" : backend, key_values));
  if (backend.empty()) {
    TRY(std::unique_ptr<Partitioner> partitioner, make_one(program, options));
    return filtered(std::move(partitioner), std::move(controls));
  }
  const Registry registry = make_registry();
  const BackendEntry* entry = registry.find(backend);
  if (entry == nullptr)
    return failure("usage", "--backend", fmt::format("there is no backend '{}'", backend));
  TRY(std::unique_ptr<Partitioner> partitioner, make_partitioner(*entry, key_values));
  return filtered(std::move(partitioner), std::move(controls));
}

Result<std::unique_ptr<Partitioner>> make_partitioner(const Program& program, const Options& options) {
  TRY(std::unique_ptr<Partitioner> first, make_controlled(program, options));
  if (!options.contains("then")) return first;
  std::vector<std::shared_ptr<const Partitioner>> partitioners;
  partitioners.push_back(std::move(first));
  partitioners.push_back(std::make_unique<CapabilityPartitioner>(support(options, "then"),
                                                                 propose_options(options, "other", "Other")));
  return std::make_unique<SeveralPartitioners>(std::move(partitioners));
}

std::string verdict_text(const Verdict& verdict, Name tag) {
  if (!tag.empty()) return std::string(tag.str());
  if (verdict.delegated) return "with its node";
  std::string text = verdict.rule;
  if (!verdict.seen.empty()) text += fmt::format(": {}", verdict.seen);
  if (!verdict.allowed.empty()) text += fmt::format(" (allowed: {})", verdict.allowed);
  return text;
}

// A line per node, in the order of the verdicts; then what moves, and the tags.
std::string result_text(const Program& program, const Method& method, const PartitionResult& result) {
  const std::unordered_map<const Node*, Name> tags(result.node_tags.begin(), result.node_tags.end());
  std::string text;
  const Graph* graph = nullptr;
  for (const auto& [node, verdict] : result.verdicts) {
    if (graph != &node->graph()) text += fmt::format("graph {}\n", node->graph().name().str());
    graph = &node->graph();
    auto tag = tags.find(node);
    text += fmt::format("  %{}: {}\n", node->display_name(),
                        verdict_text(verdict, tag == tags.end() ? Name() : tag->second));
  }
  for (const auto& [value, tag] : result.constant_tags)
    text += fmt::format("%{} moves to {}\n", value->name().str(), tag.str());
  PartitionResult copy = result;
  for (const StayingBuffer& buffer : tag_mutated_buffer(program, method, copy))
    text += fmt::format("%{} stays: {}\n", buffer.buffer->name().str(), buffer.reason);
  for (const auto& [tag, spec] : result.partition_tags)
    text += fmt::format("{} = {}\n", tag.str(), spec.backend_id);
  return text;
}

std::string why_text(const Program& program, const Method& method, const PartitionResult& result) {
  const Splits all = find_splits(program, method, result);
  std::string text;
  for (const Split& split : all.pairs)
    text += fmt::format("{} and {} are apart: {}\n", split.first.str(), split.second.str(), split.text);
  return all.omitted == 0 ? text : text + fmt::format("and {} more\n", all.omitted);
}

}  // namespace

Result<std::string> partition_text(const Program& program, const Options& options) {
  TRY(std::unique_ptr<Partitioner> partitioner, make_partitioner(program, options));
  if (options.contains("lower")) {
    TRY(Lowered lowered, to_backend(program, *partitioner, make_registry(), {.without_payloads = true}));
    return print(lowered.program, {.originals = true});
  }
  std::string text;
  for (const auto& method : program.methods) {
    TRY(PartitionResult result, partitioner->partition(program, *method));
    text += result_text(program, *method, result);
    if (options.contains("why")) text += why_text(program, *method, result);
    if (options.contains("patterns")) break;
  }
  return text;
}

}  // namespace depute
