// Queries about a lowered program, with ExecuTorch's function names.
//
//   get_delegates(program);                       // the calls of delegates, including those in bodies
//   get_non_lowered_nodes(program);               // the undelegated nodes
//   get_delegated_payload(program);               // the bytes behind each call
//   summary_lines(get_delegation_info(program));  // the lines below
//
//   Total delegated subgraphs: 2
//   Number of delegated nodes: 14
//   Number of non-delegated nodes: 3
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "depute/api.h"
#include "depute/program/program.h"

namespace depute {

// One call of a delegate. Two calls may name the same delegate.
struct DelegateCall {
  const Method* method;
  const Graph* graph;  // graph of the method, or a body
  const Node* call;
  const Delegate* delegate;
};

// Returns all delegate calls: methods in program order, for each method its graph, then its bodies depth
// first in node order. Delegates nested in delegates are not listed.
DEPUTE_API std::vector<DelegateCall> get_delegates(const Program& program);
DEPUTE_API std::vector<DelegateCall> get_delegates(const Program& program, const Method& method);

// Returns all nodes that are no delegate calls, including nodes in bodies.
DEPUTE_API std::vector<const Node*> get_non_lowered_nodes(const Program& program);

// Returns the payload of each delegate that is called, by delegate name.
struct DelegatedPayload {
  std::string backend_id;
  std::vector<CompileSpec> compile_specs;
  std::shared_ptr<const Storage> processed_bytes;
};
DEPUTE_API std::map<std::string, DelegatedPayload> get_delegated_payload(const Program& program);

struct DelegationInfo {
  std::uint64_t delegated_subgraphs = 0;  // number of calls
  std::uint64_t delegated_nodes = 0;      // nodes in original subprograms, including bodies
  std::uint64_t non_delegated_nodes = 0;
  // Per op: number of delegated and of non-delegated nodes.
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> ops;
};
DEPUTE_API DelegationInfo get_delegation_info(const Program& program);
DEPUTE_API std::string summary_lines(const DelegationInfo& info);

// Returns the program as text, including the original subprogram of each delegate.
DEPUTE_API std::string print_delegated_program(const Program& program);

}  // namespace depute
