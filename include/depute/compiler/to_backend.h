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

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/api.h"
#include "depute/backend/partitioner.h"
#include "depute/backend/registry.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Cache of preprocess() results, in a folder or on a server that a team shares: a second lowering calls a backend only
// for changed partitions. Useful for backends with a slow preprocess(), such as vendor compilers.
//
// A result's key is the hash of everything it depends on: the partition (its graph with names and debug
// handles, the bytes of its constants), the compile specs, the backend's id and cache_version(), and the
// compiler's version and binary. Source lines are not included. Entries have a checksum; a damaged entry is
// reported, ignored and rebuilt. Entries are written atomically, so several processes can share a store.
struct CacheOptions {
  // A folder, which is created if missing, or the http:// or https:// URL below which a server answers GET and PUT.
  // Empty: caching is disabled. A server that fails adds a note to CacheUse.
  std::string store = {};
  // Maximum size in bytes of a folder, by default 10 GiB; beyond it, the least recently used entries are deleted.
  // A server decides on its own size.
  std::optional<std::uint64_t> max_bytes = {};
};

// Cache statistics of one lowering.
struct CacheUse {
  std::uint64_t found = 0;
  std::uint64_t made = 0;               // misses; excludes backends without cache_version()
  std::vector<std::string> notes = {};  // damaged entries, unwritable folder, server that fails
};

// Errors of partitioners, the carver and backends. Each has a stable id, which tools may match behind
// "to_backend."; the message text may change.
enum class LoweringFault : std::uint8_t {
  PartitionerFailed,          // threw an exception, or returned an error
  PartitionerChangedProgram,  // partitioners may only return tags
  PartitionerNotDeterministic,
  UnknownTag,          // a tag without a delegation spec
  EmptyTag,            // a delegation spec for the empty tag, which untagged nodes have
  OutputTagged,        // a tag on the outputs of a graph
  InputTagged,         // a tag on a user input, or on an input of a control-flow body
  TaggedTwice,         // a node with two tags
  ForeignNode,         // a node or value that is null, erased, or belongs to another method or program
  TagInsideTakenBody,  // a control-flow node is taken as a whole, but a node in its body has another tag
  DependencyCycle,     // a partition needs a value that depends on its own results
  SplitConstant,       // a constant listed in no_copy is used in several places
  // Readers and writer of a mutated buffer, or calls of a stateful delegate, are in different partitions.
  SplitState,
  NotFunctional,   // a node mutates its argument
  UnknownMethod,   // a partitioner for a method that does not exist
  NoPartitioner,   // a null partitioner
  NotOneMethod,    // a whole program can become a delegate only if it has one method
  UnknownBackend,  // no registered backend has this id
  BackendFailed,   // threw an exception, or returned an error
  BackendChangedProgram,
  BackendNotDeterministic,
  WrongResultCount,   // the number of results differs from the number of partitions
  NoBytes,            // a result without processed bytes
  BadArenaPadding,    // more than max_arena_padding bytes
  BadDebugHandles,    // a delegate map names handles that the partition does not have
  BadNamedData,       // no key, no bytes, an invalid alignment, layout or tag
  NamedDataConflict,  // one key with different bytes
  BadBackendOp,       // an invalid backend op
  BackendOpLeft,      // an undelegated backend op without a kernel that cannot be replaced by a pattern
};

// Id as printed: "split-state".
DEPUTE_API std::string_view fault_id(LoweringFault fault);

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
  NameScope names = NameScope::current();  // keeps the names above
};

struct Lowered : Delegation {
  Program program;
};

// Partitions and lowers the methods with a partitioner. Errors have an id of LoweringFault. They name
// method, tag, node, backend and source line where known.
using MethodPartitioners = std::map<std::string, const Partitioner*, std::less<>>;
DEPUTE_API Result<Lowered> to_backend(const Program& program, const MethodPartitioners& partitioners,
                                      const Registry& registry, const ToBackendOptions& options = {});
DEPUTE_API Result<Lowered> to_backend(const Program& program, const Partitioner& partitioner,
                                      const Registry& registry, const ToBackendOptions& options = {});

// Lowers a whole program of one method as one delegate, without a partitioner (ExecuTorch's
// LoweredBackendModule).
DEPUTE_API Result<Delegate> to_backend(std::string_view backend_id, const Program& program,
                                       const std::vector<CompileSpec>& compile_specs,
                                       const Registry& registry, const ToBackendOptions& options = {});

// Explains why a backend has several delegates, in method order. `program` is the program that to_backend()
// got.
DEPUTE_API Splits splits_of(const Program& program, const Delegation& delegation);

// Returns a program of one method, `forward`, that only calls the delegate. Its inputs and results are those
// of the delegate; constants and state are inside. Fails for a delegate without its original subprogram,
// which has the types of inputs and results.
DEPUTE_API Result<Program> as_program(const Delegate& delegate);

// --- validation: whether to_backend() checks that partitioners and backends do not modify their inputs
//
// On by default. Disabling skips only these two checks; tags, specs, constants, cycles and results are always
// checked. Corresponds to ExecuTorch's disable_validation() and validation_disabled().

// Disables validation until the process ends.
DEPUTE_API void disable_validation();

// Disables validation in this thread during its lifetime.
class DEPUTE_API ValidationDisabled {
 public:
  ValidationDisabled();
  ~ValidationDisabled();
  ValidationDisabled(const ValidationDisabled&) = delete;
  ValidationDisabled& operator=(const ValidationDisabled&) = delete;
};

DEPUTE_API bool is_validation_enabled();

}  // namespace depute
