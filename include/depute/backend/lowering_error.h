// Errors of partitioners, the carver and backends: each kind has a stable id, and each error names its place.
//
//   error[to_backend.split-state] method forward, buffer 'count', tag t0: buffer 'count' is mutated, and ...
//
// Tools may match the id after `to_backend.`; the message text may change.
#pragma once

#include <string>
#include <string_view>

#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

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
  BadNamedData,       // no key, no bytes, or an invalid alignment
  NamedDataConflict,  // one key with different bytes
  BadBackendOp,       // an invalid backend op
  BackendOpLeft,      // an undelegated backend op without a kernel that cannot be replaced by a pattern
};

// Id as printed: "split-state".
std::string_view fault_id(LoweringFault fault);

// Place of an error; unknown fields stay empty.
struct LoweringPlace {
  std::string_view method = {};
  const Node* node = nullptr;   // adds the user's source line
  std::string_view value = {};  // "input 'x'", "buffer 'count'"
  std::string_view tag = {};
  std::string_view backend = {};
  std::string_view function = {};  // of the backend or partitioner, which threw: "preprocess()"
};

// "method forward, node a (aten.relu.default), tag t0, backend MyBackend, preprocess()"
std::string place_text(const LoweringPlace& place);

Failure lowering_error(LoweringFault fault, const LoweringPlace& place, std::string_view message,
                       std::string_view hint = {});

// BackendFailed with the message, place, hint and source line of the backend's own error.
Failure backend_failed(const LoweringPlace& place, const Diagnostic& cause);

}  // namespace depute

#pragma GCC visibility pop
