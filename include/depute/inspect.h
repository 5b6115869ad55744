// Questions about a lowered program, under the names ExecuTorch gives them.
//
//   get_delegates(program);          // the calls of delegates, bodies included
//   get_non_lowered_nodes(program);  // what stays on portable kernels
//   get_delegated_payload(program);  // the bytes behind each call
//   summary_lines(get_delegation_info(program));
//
//   Total delegated subgraphs: 2
//   Number of delegated nodes: 14
//   Number of non-delegated nodes: 3
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "depute/program.h"

#pragma GCC visibility push(default)

namespace depute {

// One call. Two calls may name one delegate.
struct DelegateCall {
  const Method* method;
  const Graph* graph;  // the method's own, or a body
  const Node* call;
  const Delegate* delegate;
};

// Methods in program order; in a method its own graph, then bodies in node order, depth first. Delegates
// inside of other delegates are not listed.
std::vector<DelegateCall> get_delegates(const Program& program);
std::vector<DelegateCall> get_delegates(const Program& program, const Method& method);

// Nodes that are no calls of delegates, those of bodies included.
std::vector<const Node*> get_non_lowered_nodes(const Program& program);

// The payload of each delegate that is called, by its name.
struct DelegatedPayload {
  std::string backend_id;
  std::vector<CompileSpec> compile_specs;
  std::shared_ptr<const Storage> processed_bytes;
};
std::map<std::string, DelegatedPayload> get_delegated_payload(const Program& program);

struct DelegationInfo {
  std::uint64_t delegated_subgraphs = 0;  // calls
  std::uint64_t delegated_nodes = 0;      // in their originals, bodies included
  std::uint64_t non_delegated_nodes = 0;
  // By op: how many are and are not delegated.
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> ops;
};
DelegationInfo get_delegation_info(const Program& program);
std::string summary_lines(const DelegationInfo& info);

// The program as text, with what each delegate was made from.
std::string print_delegated_program(const Program& program);

}  // namespace depute

#pragma GCC visibility pop
