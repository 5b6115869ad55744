#include "depute/program/inspect.h"

#include <fmt/format.h>

#include "depute/program/text.h"
#include "depute/program/walk.h"
#include "ir/delegate_index.h"
#include "ops/own_ops.h"

namespace depute {
namespace {

template <typename Visit>
void for_each_node(const Method& method, Visit&& visit) {
  for (const Graph* graph : graphs_of(method)) {
    for (const Node& node : graph->nodes()) visit(*graph, node);
  }
}

void add_delegates(const DelegateIndex& delegates, const Method& method, std::vector<DelegateCall>& calls) {
  for_each_node(method, [&](const Graph& graph, const Node& node) {
    if (is_delegate_call(node)) calls.push_back({&method, &graph, &node, delegates.of(node)});
  });
}

void count_delegated(const Program& original, DelegationInfo& info) {
  for_each_node(*original.methods.front(), [&](const Graph&, const Node& node) {
    if (is_delegate_call(node)) {
      const Delegate* nested = original.find_delegate(called_delegate(node));
      if (nested != nullptr && nested->original != nullptr) count_delegated(*nested->original, info);
    } else {
      ++info.delegated_nodes;
      ++info.ops[std::string(node.op().str())].first;
    }
  });
}

}  // namespace

std::vector<DelegateCall> get_delegates(const Program& program, const Method& method) {
  std::vector<DelegateCall> calls;
  add_delegates(DelegateIndex(program), method, calls);
  return calls;
}

std::vector<DelegateCall> get_delegates(const Program& program) {
  const DelegateIndex delegates(program);
  std::vector<DelegateCall> calls;
  for (const auto& method : program.methods) add_delegates(delegates, *method, calls);
  return calls;
}

std::vector<const Node*> get_non_lowered_nodes(const Program& program) {
  std::vector<const Node*> nodes;
  for (const auto& method : program.methods) {
    for_each_node(*method, [&](const Graph&, const Node& node) {
      if (!is_delegate_call(node)) nodes.push_back(&node);
    });
  }
  return nodes;
}

std::map<std::string, DelegatedPayload> get_delegated_payload(const Program& program) {
  std::map<std::string, DelegatedPayload> payloads;
  for (const DelegateCall& call : get_delegates(program)) {
    const Delegate& delegate = *call.delegate;
    payloads[std::string(delegate.name.str())] = {delegate.backend_id, delegate.compile_specs,
                                                  delegate.processed_bytes};
  }
  return payloads;
}

DelegationInfo get_delegation_info(const Program& program) {
  DelegationInfo info;
  for (const DelegateCall& call : get_delegates(program)) {
    ++info.delegated_subgraphs;
    if (call.delegate->original != nullptr) count_delegated(*call.delegate->original, info);
  }
  for (const Node* node : get_non_lowered_nodes(program)) {
    ++info.non_delegated_nodes;
    ++info.ops[std::string(node->op().str())].second;
  }
  return info;
}

std::string summary_lines(const DelegationInfo& info) {
  return fmt::format(
      "Total delegated subgraphs: {}\nNumber of delegated nodes: {}\nNumber of non-delegated nodes: {}\n",
      info.delegated_subgraphs, info.delegated_nodes, info.non_delegated_nodes);
}

std::string print_delegated_program(const Program& program) {
  PrintOptions options;
  options.originals = true;
  return print(program, options);
}

}  // namespace depute
