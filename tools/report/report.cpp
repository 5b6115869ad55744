#include "depute/tools/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "depute/compiler/compiler.h"
#include "depute/program/inspect.h"
#include "depute/program/walk.h"
#include "depute/tools/byte_ledger.h"
#include "ir/delegate_index.h"
#include "ir/program_names.h"
#include "plan/equal_delegates.h"
#include "support/number_text.h"
#include "tools/report/boundaries.h"
#include "tools/report/largest_sizes.h"
#include "tools/report/page_facts.h"
#include "tools/report/planned_facts.h"
#include "tools/report/report_steps.h"

namespace depute {

std::uint64_t Report::delegated_nodes() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(nodes, [](const NodeReport& node) { return !node.delegate.empty(); }));
}

std::uint64_t Report::non_delegated_nodes() const {
  return nodes.size() - delegated_nodes();
}

double Report::coverage() const {
  return percent(delegated_nodes(), nodes.size(), 100);
}

double Report::coverage_of(std::string_view backend) const {
  const auto taken = std::ranges::count_if(
      nodes, [&](const NodeReport& node) { return !node.delegate.empty() && node.owner == backend; });
  return percent(static_cast<std::uint64_t>(taken), nodes.size(), 100);
}

std::optional<std::uint64_t> Report::non_delegated_macs() const {
  std::uint64_t sum = 0;
  for (const NodeReport& node : nodes) {
    if (!node.delegate.empty()) continue;
    if (!node.macs) return std::nullopt;
    sum += *node.macs;
  }
  return sum;
}

std::optional<std::uint64_t> Report::boundary_bytes() const {
  std::uint64_t sum = 0;
  for (const DelegateReport& delegate : delegates) {
    if (!delegate.boundary_bytes) return std::nullopt;
    sum += *delegate.boundary_bytes;
  }
  return sum;
}

namespace {

// The identity of a node; `graph` is empty for the method's own graph.
struct NodeKey {
  Name method;
  Name graph;
  Name node;
  friend bool operator==(const NodeKey&, const NodeKey&) = default;
};

struct NodeKeyHash {
  std::size_t operator()(const NodeKey& key) const {
    std::hash<Name> hash;
    return (hash(key.method) * 31 + hash(key.graph)) * 31 + hash(key.node);
  }
};

using NodeKeys = std::unordered_set<NodeKey, NodeKeyHash>;

NodeKey key_of(const Method& method, const Node& node) {
  const Graph& graph = node.graph();
  return {method.name, &graph == method.graph.get() ? Name() : graph.name(),
          node.results().empty() ? node.op() : node.result()->name()};
}

NodeKeys keys_of(const Program& program) {
  NodeKeys keys;
  for (const auto& method : program.methods) {
    for (const Graph* graph : graphs_of(*method)) {
      for (const Node& node : graph->nodes()) keys.insert(key_of(*method, node));
    }
  }
  return keys;
}

// Maps nodes of the lowered program to their reports, which were made when the backends were asked.
class ReportedNodes {
 public:
  ReportedNodes(Report& report, const Program& lowered) {
    const NodeKeys left = keys_of(lowered);
    for (NodeReport& node : report.nodes) {
      if (!node.delegate.empty()) continue;
      NodeKey key{node.method, node.graph, node.node};
      by_key_.emplace(key, &node);
      if (!left.contains(key)) decomposed_[{node.method.str(), node.debug_handle}].push_back(&node);
    }
  }

  std::vector<NodeReport*> find(const NodeKey& key, std::uint32_t debug_handle) {
    auto same = by_key_.find(key);
    if (same != by_key_.end()) return {same->second};
    auto before = decomposed_.find({key.method.str(), debug_handle});
    return before == decomposed_.end() ? std::vector<NodeReport*>() : before->second;
  }

 private:
  std::unordered_map<NodeKey, NodeReport*, NodeKeyHash> by_key_;
  std::map<std::pair<std::string_view, std::uint32_t>, std::vector<NodeReport*>> decomposed_;
};

}  // namespace

namespace {

// Starts a report in which the portable runtime owns all nodes.
Report start_report(const Program& normalized, const QuantizeResult& quantized) {
  Report report{.quantized = quantized};
  for (const auto& method : normalized.methods) {
    for (const Graph* graph : graphs_of(*method)) {
      for (const Node& node : graph->nodes()) {
        report.nodes.push_back({.method = method->name,
                                .graph = graph == method->graph.get() ? Name() : graph->name(),
                                .node = node.results().empty() ? node.op() : node.result()->name(),
                                .op = node.op(),
                                .source = node.source != nullptr ? *node.source : SourceLocation(),
                                .debug_handle = node.debug_handle,
                                .macs = largest_macs(node, normalized.ranges),
                                .owner = "portable",
                                .delegate = {},
                                .reasons = {}});
      }
    }
  }
  return report;
}

// Adds what one backend's lowering decided.
void add_verdicts(Report& report, std::string_view backend_name, std::span<const NodeVerdict> verdicts) {
  const auto tell = [&](NodeReport& node, const NodeVerdict& verdict) {
    if (verdict.verdict.delegated) {
      node.owner = verdict.verdict.owner;
      node.delegate = verdict.delegate;
    } else {
      node.reasons.emplace_back(std::string(backend_name), verdict.verdict);
    }
  };
  std::unordered_map<NodeKey, const NodeVerdict*, NodeKeyHash> by_key;
  std::map<std::tuple<std::string_view, std::string_view, std::uint32_t>, const NodeVerdict*> by_handle;
  for (const NodeVerdict& verdict : verdicts) {
    by_key.emplace(NodeKey{verdict.method, verdict.graph, verdict.node}, &verdict);
    for (std::uint32_t handle : verdict.replaced) {
      if (handle != 0)
        by_handle.emplace(std::tuple(verdict.method.str(), verdict.graph.str(), handle), &verdict);
    }
  }
  for (NodeReport& node : report.nodes) {
    const auto own = by_key.find(NodeKey{node.method, node.graph, node.node});
    if (own != by_key.end()) {
      tell(node, *own->second);
    } else if (node.delegate.empty()) {  // one of those that an op of a backend stands for
      const auto in_place = by_handle.find({node.method.str(), node.graph.str(), node.debug_handle});
      if (in_place != by_handle.end()) tell(node, *in_place->second);
    }
  }
}

// Adds the verdicts of a round, which come method by method.
void add_round(Report& report, const DelegationRound& round) {
  std::span<const NodeVerdict> verdicts = round.decided.verdicts;
  while (!verdicts.empty()) {
    const std::string& backend = round.asked.at(verdicts.front().method);
    const auto other = std::ranges::find_if(
        verdicts, [&](const NodeVerdict& verdict) { return round.asked.at(verdict.method) != backend; });
    const auto count = static_cast<std::size_t>(other - verdicts.begin());
    add_verdicts(report, backend, verdicts.first(count));
    verdicts = verdicts.subspan(count);
  }
  report.cache.found += round.decided.cache.found;
  report.cache.made += round.decided.cache.made;
  std::ranges::copy(round.decided.cache.notes, std::back_inserter(report.notes));
}

void add_splits(Report& report, const DelegationRound& round) {
  Splits splits = splits_of(*round.before, round.decided);
  report.splits.omitted += splits.omitted;
  std::ranges::move(splits.pairs, std::back_inserter(report.splits.pairs));
}

}  // namespace

void add_refusals(Report& report, const Program& lowered, const std::vector<Refusal>& refusals) {
  if (refusals.empty()) return;
  report.names = names_of(lowered);
  ReportedNodes reported(report, lowered);
  for (const Refusal& refusal : refusals) {
    RefusalReport entry{.method = refusal.method, .graph = {}, .node = {}, .cause = refusal.cause};
    if (refusal.node != nullptr) {
      const NodeKey key = key_of(*lowered.find_method(refusal.method.str()), *refusal.node);
      entry.graph = key.graph;
      entry.node = key.node;
      for (NodeReport* node : reported.find(key, refusal.node->debug_handle)) {
        node->owner = refusal.cause.code == no_kernel ? "no-kernel" : "refused";
      }
    }
    report.refusals.push_back(std::move(entry));
  }
}

std::size_t blob_bytes(const Delegate& delegate) {
  return delegate.processed_bytes == nullptr ? 0 : delegate.processed_bytes->size();
}

namespace {

// Bytes of the tensor inputs and results of a delegate call.
std::optional<std::uint64_t> bytes_over_border(const Node& call, const Ranges& ranges) {
  std::uint64_t sum = 0;
  const auto add = [&](const Value& value) {
    if (!value.type().is_tensor()) return true;
    const auto bytes = largest_bytes(value.type().tensor, ranges);
    sum += bytes.value_or(0);
    return bytes.has_value();
  };
  for (std::size_t i = 0; i < call.operand_count(); ++i) {
    if (!add(*call.operand(i))) return std::nullopt;
  }
  for (const Value* result : call.results()) {
    if (!add(*result)) return std::nullopt;
  }
  return sum;
}

}  // namespace

void add_delegates(Report& report, const Program& lowered) {
  std::unordered_map<Name, std::uint64_t> node_count;
  for (const NodeReport& node : report.nodes) ++node_count[node.delegate];
  const StatefulDelegates stateful(lowered);
  internal::EqualDelegates equal(lowered, stateful);
  const DelegateIndex numbers(lowered);
  for (const DelegateCall& call : get_delegates(lowered)) {
    const Delegate& delegate = *call.delegate;
    DelegateReport entry{.name = delegate.name,
                         .method = call.method->name,
                         .backend_id = delegate.backend_id,
                         .nodes = node_count[delegate.name],
                         .inputs = call.call->args().size() - 1,
                         .outputs = call.call->results().size(),
                         .blob_bytes = blob_bytes(delegate),
                         .boundary_bytes = bytes_over_border(*call.call, lowered.ranges),
                         .info = delegate.delegate_info};
    if (const auto first = equal.find_or_add(*numbers.number_of(*call.call)))
      entry.repeats = lowered.delegates[*first]->name;
    for (const NamedData& data : delegate.named_data) entry.data_bytes += data.storage->size();
    report.delegates.push_back(std::move(entry));
  }
  report.boundaries = boundaries_of(report, lowered);
}

namespace {

std::shared_ptr<PageFacts> page_of(const Program& normalized, ReportParts parts) {
  return parts.page ? std::make_shared<PageFacts>(page_facts(normalized)) : nullptr;
}

}  // namespace

Report make_report(const Edge& edge, ReportParts parts) {
  const NameScope::Use use(names_of(edge.program()));
  Report report = start_report(edge.program(), edge.quantized());
  report.page = page_of(edge.program(), parts);
  return report;
}

Report report_nodes(const Delegated& delegated, ReportParts parts) {
  const NameScope::Use use(names_of(delegated.program()));
  Report report = start_report(delegated.normalized(), delegated.quantized());
  for (const DelegationRound& round : delegated.rounds()) {
    add_round(report, round);
    if (parts.splits) add_splits(report, round);
  }
  report.page = page_of(delegated.normalized(), parts);
  return report;
}

Report make_report(const Delegated& delegated, ReportParts parts) {
  const NameScope::Use use(names_of(delegated.program()));
  Report report = report_nodes(delegated, parts);
  add_delegates(report, delegated.program());
  return report;
}

void add_plan(Report& report, const Executable& executable) {
  report.names = names_of(executable.program());
  const NameScope::Use use(report.names);
  report.planned = planned_facts(executable);
  if (report.page != nullptr) add_memory(*report.page, report, executable.program(), executable.plan());
}

void add_output(Report& report, const Executable& executable, const PteFile& file,
                std::span<const std::byte> pte, const Registry& registry) {
  const NameScope::Use use(names_of(executable.program()));
  report.output = file.name;
  report.output_bytes = file.summary.file_bytes;
  for (const WrittenFile& each : file.summary.external_files)
    report.external_files.push_back({each.path, each.bytes});
  for (const std::string& warning : file.summary.warnings) report.notes.push_back(warning);
  for (const std::string& module : executable.plan().kernel_modules)
    report.notes.push_back(fmt::format("the program needs kernels of the Python module {}", module));
  for (const std::string& kernel : executable.plan().own_kernels)
    report.notes.push_back(fmt::format("the program needs {}, which the application registers", kernel));
  if (report.page == nullptr) return;
  Result<ByteLedger> ledger = byte_ledger(pte, file.name, registry);
  if (ledger) {
    add_ledger(*report.page, std::move(*ledger));
  } else {
    report.notes.push_back("the page does not tell where bytes are: " + ledger.error().str());
  }
}

Report make_report(const Executable& executable, ReportParts parts) {
  Report report = make_report(executable.delegated(), parts);
  add_plan(report, executable);
  return report;
}

Report make_report(const Executable& executable, const PteFile& file, const Registry& registry,
                   ReportParts parts) {
  Report report = make_report(executable, parts);
  add_output(report, executable, file, file.pte, registry);
  return report;
}

Report explain(Delegated delegated, const WriteOptions& options, ReportParts parts) {
  Result<Delegated> lowered = lower_undelegated(delegated);
  if (!lowered) {
    Report report = make_report(delegated, parts);
    report.refusals.push_back({.method = {}, .graph = {}, .node = {}, .cause = lowered.error()});
    return report;
  }
  Report report = make_report(*lowered, parts);
  std::vector<Refusal> refusals;
  const Result<Executable> executable = to_executorch(*lowered, options, &refusals);
  add_refusals(report, lowered->program(), refusals);
  if (executable) add_plan(report, *executable);
  return report;
}

}  // namespace depute
