// What can go wrong between a partitioner, the carver and a backend, each kind with an id of its own, and the
// place it is told with.
//
//   error[to_backend.split-state] method forward, buffer 'count', tag t0: buffer 'count' is mutated, and ...
//
// Tools can match the id after `to_backend.`; the words may change.
#pragma once

#include <string>
#include <string_view>

#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

enum class LoweringFault : std::uint8_t {
  PartitionerFailed,          // it threw, or returned an error
  PartitionerChangedProgram,  // it may only return tags
  PartitionerNotDeterministic,
  UnknownTag,          // a tag without a delegation spec
  EmptyTag,            // a delegation spec for the empty tag, which untagged nodes have
  OutputTagged,        // the outputs of a graph
  InputTagged,         // a user input, or an input of a control-flow body
  TaggedTwice,         // a node with two tags
  ForeignNode,         // a node or value that is null, erased, or of another method or program
  TagInsideTakenBody,  // a control-flow node is taken whole, and a node in its body has another tag
  DependencyCycle,     // a partition needs a value that depends on its own results
  SplitConstant,       // a constant that may not be copied is used in several places
  SplitState,          // readers and writer of a mutated buffer, or calls of a delegate with state, lie apart
  NotFunctional,       // a node that writes to its argument
  UnknownMethod,       // a partitioner for a method that is not there
  NoPartitioner,       // a null one
  NotOneMethod,        // a whole program becomes a delegate only when it has one method
  UnknownBackend,      // no backend has the id
  BackendFailed,       // it threw, or returned an error
  BackendChangedProgram,
  BackendNotDeterministic,
  WrongResultCount,   // not one result per partition
  NoBytes,            // a result without processed bytes
  BadArenaPadding,    // more bytes behind the arena than a runtime half can have a use for
  BadDebugHandles,    // a delegate map names handles that the partition does not have
  BadNamedData,       // no key, no bytes, an alignment that is no power of two or too large
  NamedDataConflict,  // one key, different bytes
  BadBackendOp,       // a backend op that cannot be what it says
  BackendOpLeft,      // a backend op outside of a delegate that nothing there can run
};

// "split-state": the id as it is printed.
std::string_view fault_id(LoweringFault fault);

// Where something went wrong; what is not known stays empty.
struct LoweringPlace {
  std::string_view method = {};
  const Node* node = nullptr;   // its user's source line goes along
  std::string_view value = {};  // "input 'x'", "buffer 'count'"
  std::string_view tag = {};
  std::string_view backend = {};
  std::string_view function = {};  // of the backend or partitioner, which threw: "preprocess()"
};

// "method forward, node a (aten.relu.default), tag t0, backend MyBackend, preprocess()"
std::string place_text(const LoweringPlace& place);

Failure lowering_error(LoweringFault fault, const LoweringPlace& place, std::string_view message,
                       std::string_view hint = {});

// BackendFailed with the backend's own words, place, hint and line.
Failure backend_failed(const LoweringPlace& place, const Diagnostic& cause);

}  // namespace depute

#pragma GCC visibility pop
