#include "tools/report/page_facts.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/text.h"
#include "depute/program/walk.h"
#include "tools/report/largest_sizes.h"

namespace depute {
namespace {

class PageReader {
 public:
  explicit PageReader(const Program& program) : program_(program) {}

  PageFacts run() {
    for (const auto& method : program_.methods) {
      for (const Graph* graph : graphs_of(*method)) add_graph(*method, *graph);
    }
    return std::move(facts_);
  }

 private:
  // Mutated state is not constant: it is passed from call to call, like a value.
  bool is_constant(const Method& method, const InputSpec& spec) {
    if (method_ != &method) {
      method_ = &method;
      mutated_.clear();
      for (const OutputSpec& output : method.outputs) {
        if (output.mutates_data()) mutated_.insert(output.target);
      }
    }
    return spec.has_data() && !mutated_.contains(spec.target);
  }

  void add_graph(const Method& method, const Graph& graph) {
    const bool is_own = &graph == method.graph.get();
    PageGraph entry{.method = method.name,
                    .graph = is_own ? Name() : graph.name(),
                    .first_node = facts_.nodes.size(),
                    .node_count = graph.node_count()};
    for (const Value* input : graph.inputs()) {
      entry.inputs.push_back({.name = input->name(),
                              .type = type_number(input->type()),
                              .is_constant = is_own && is_constant(method, method.inputs[input->index()])});
    }
    numbers_.clear();
    std::int64_t number = static_cast<std::int64_t>(facts_.nodes.size());
    for (const Node& node : graph.nodes()) numbers_.emplace(&node, number++);
    for (const Node& node : graph.nodes()) facts_.nodes.push_back(read(node, entry));
    for (std::size_t i = 0; i < graph.return_node()->operand_count(); ++i)
      entry.outputs.push_back(value_of(*graph.return_node()->operand(i)));
    facts_.graphs.push_back(std::move(entry));
  }

  PageNode read(const Node& node, const PageGraph& graph) {
    PageNode facts;
    std::unordered_set<const Value*> seen;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value& value = *node.operand(i);
      if (!seen.insert(&value).second) continue;
      if (value.producer() == nullptr && graph.inputs[value.index()].is_constant) {
        facts.constant_bytes += facts_.type_bytes[graph.inputs[value.index()].type].value_or(0);
      } else {
        facts.inputs.push_back(value_of(value));
      }
    }
    for (const Value* result : node.results()) facts.types.push_back(type_number(result->type()));
    if (node.def() == nullptr) return facts;
    facts.macs = largest_macs(node, program_.ranges).value_or(0);
    if (node.def()->is(OpFlag::Quantization)) facts.quantization = literals(node);
    return facts;
  }

  // "scale=0.25, zero_point=3", with the names of the schema.
  static std::string literals(const Node& node) {
    std::string text;
    const OpCall call(node);
    for (std::size_t i = 0; i < call.args().size(); ++i) {
      if (call[i].is_value() || call[i].is_none()) continue;
      if (!text.empty()) text += ", ";
      text += std::string(call.def().args[i].name.str()) + "=" + print(call[i]);
    }
    return text;
  }

  PageValue value_of(const Value& value) const {
    if (value.producer() == nullptr) return {.node = -1 - static_cast<std::int64_t>(value.index())};
    return {.node = numbers_.at(value.producer()), .result = value.index()};
  }

  std::uint32_t type_number(const Type& type) {
    auto [found, is_new] = type_numbers_.emplace(str(type), static_cast<std::uint32_t>(facts_.types.size()));
    if (is_new) {
      facts_.types.push_back(found->first);
      facts_.type_bytes.push_back(type.is_tensor() ? largest_bytes(type.tensor, program_.ranges) : 0);
    }
    return found->second;
  }

  const Program& program_;
  PageFacts facts_;
  const Method* method_ = nullptr;
  std::unordered_set<Name> mutated_;  // data that method_ mutates
  std::unordered_map<const Node*, std::int64_t> numbers_;
  std::unordered_map<std::string, std::uint32_t> type_numbers_;
};

}  // namespace

PageFacts page_facts(const Program& normalized) {
  return PageReader(normalized).run();
}

PageCounts counts_of(const Report& report) {
  PageCounts counts{.delegates = report.delegates.size(),
                    .delegated = report.delegated_nodes(),
                    .nodes = report.nodes.size()};
  for (const NodeReport& node : report.nodes) {
    if (!node.delegate.empty()) counts.macs += node.macs.value_or(0);
  }
  return counts;
}

}  // namespace depute
