// to_backend: lowers the parts of a program that partitioners selected. It has ExecuTorch's three forms:
//
//   // The whole program as one delegate.
//   DEPUTE_TRY(Delegate delegate, to_backend("MyBackend", program, specs, registry));
//   // One partitioner for all methods.
//   DEPUTE_TRY(Lowered lowered, to_backend(program, partitioner, registry));
//   // One partitioner per method.
//   DEPUTE_TRY(Lowered parts, to_backend(program, {{"encode", &a}, {"decode", &b}}, registry));
//
// The input program is not changed. The result is a new program that shares its data, with one delegate.call
// and one Delegate per partition. A failed call has no effect. All forms share one implementation: all
// methods are carved first, then each backend gets all its partitions in one preprocess_multimethod() call.
//
// The order is stable: methods in program order; for each method its graph, then control-flow bodies in node
// order, depth first; in each graph the order of the calls. Delegates are named after their tags, with _1,
// _2, ... if a name is in use. Their debug handles follow the largest handle of the program, in the same
// order. Backends are called in the order of their first partition.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/backend/partitioner.h"
#include "depute/backend/registry.h"
#include "depute/compiler/result_cache.h"
#include "depute/compiler/splits.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

struct ToBackendOptions {
  int jobs = 1;
  // Call each partitioner and each backend twice; fail if the two results differ.
  bool check_determinism = false;
  CacheOptions cache = {};  // ignored with check_determinism
  // Partition only: no backend is called, and delegates have no bytes.
  bool without_payloads = false;
};

// Verdict of a node, stored by name so that it outlives the graph.
struct NodeVerdict {
  Name method;
  Name graph;  // control-flow body with the node; empty: graph of the method
  Name node;   // name of its first result in the normalized program
  Name op;
  std::string source;  // "model.py:12 (features.0)"
  Name delegate;       // name of its delegate; empty if undelegated
  Verdict verdict;
  std::vector<std::uint32_t> replaced = {};  // debug handles of the nodes in whose place it stands
};

// Decision of one method's partitioner. Its nodes belong to the program that to_backend() got.
struct MethodPartition {
  const Method* method = nullptr;
  bool has_partitioner = false;
  PartitionResult result = {};
  // Names of delegates by graph and tag. A partition without used results or effects has none.
  std::unordered_map<const Graph*, std::unordered_map<Name, Name>> delegates = {};
};

// Decisions of all partitioners and backends of one call.
struct Delegation {
  std::vector<NodeVerdict> verdicts;  // for each node of methods with a partitioner, in method and node order
  std::vector<MethodPartition> methods;  // all methods, in program order
  CacheUse cache;
};

struct Lowered : Delegation {
  Program program;
};

// Partitions and lowers the methods with a partitioner. Errors have an id of lowering_error.h. They name
// method, tag, node, backend and source line where known.
using MethodPartitioners = std::map<std::string, const Partitioner*, std::less<>>;
Result<Lowered> to_backend(const Program& program, const MethodPartitioners& partitioners,
                           const Registry& registry, const ToBackendOptions& options = {});
Result<Lowered> to_backend(const Program& program, const Partitioner& partitioner, const Registry& registry,
                           const ToBackendOptions& options = {});

// Lowers a whole program of one method as one delegate, without a partitioner (ExecuTorch's
// LoweredBackendModule).
Result<Delegate> to_backend(std::string_view backend_id, const Program& program,
                            const std::vector<CompileSpec>& compile_specs, const Registry& registry,
                            const ToBackendOptions& options = {});

// Explains why a backend has several delegates, in method order. `program` is the program that to_backend()
// got.
Splits splits_of(const Program& program, const Delegation& delegation);

// Returns a program of one method, `forward`, that only calls the delegate. Its inputs and results are those
// of the delegate; constants and state are inside. Fails for a delegate without its original subprogram,
// which has the types of inputs and results.
Result<Program> as_program(const Delegate& delegate);

}  // namespace depute

#pragma GCC visibility pop
