// Partitioner: decides which nodes go to which backend, by tagging them. The names are ExecuTorch's.
//
// A partitioner sees a Method of a Program and returns a PartitionResult: a tag per node and, per tag, the
// DelegationSpec of the backend that takes it. Nodes with one tag become one delegate. A partitioner never
// edits the program: tags are given beside it. Every node ends with exactly one Verdict, so that no one has
// to guess why an op was not delegated.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "normalise/ops_to_not_decompose.h"
#include "support/result.h"

namespace depute {

struct DelegationSpec {
  std::string backend_id;
  std::vector<CompileSpec> compile_specs;
  friend bool operator==(const DelegationSpec&, const DelegationSpec&) = default;
};

// Why a node is or is not delegated. `rule` is from a closed vocabulary per backend ("dtype", "rank",
// "static-weight", ...).
struct Verdict {
  bool delegated = false;
  std::string owner;    // backend name when delegated; else empty
  std::string rule;     // id of the rule that refused, empty when delegated
  std::string seen;     // the value seen: "i64"
  std::string allowed;  // the values allowed: "f32, f16"
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

struct PartitionResult {
  // Tag by node, for nodes of the method's graph and its bodies. Untagged nodes stay with the portable
  // runtime.
  std::map<Symbol, DelegationSpec, SymbolTextLess> partition_tags;
  std::vector<std::pair<const Node*, Symbol>> node_tags;  // in graph order
  // Constant inputs that move into the delegate with that tag. Constants used by several tags are listed once
  // for each. A mutated buffer may be listed when all its readers and its writer have the tag.
  std::vector<std::pair<const Value*, Symbol>> constant_tags;
  // Constants that may lie in one place only: moving one that other tags, or untagged nodes, use too is
  // refused. Others are copied, which costs a view and no bytes.
  std::vector<const Value*> no_copy;
  std::vector<std::pair<const Node*, Verdict>> verdicts;  // of every node looked at
};

class Partitioner {
 public:
  virtual ~Partitioner() = default;
  virtual OpsToNotDecompose ops_to_not_decompose(const Program& program) const {
    (void)program;
    return {};
  }
  virtual Result<PartitionResult> partition(const Program& program, const Method& method) const = 0;
};

}  // namespace depute
