// Writes a graph as a payload for ExecuTorch's XnnpackBackend.
//
//   30-byte header, padded to 32 | flatbuffer (payload.fbs), padded to 16
//
// Constants are not part of the payload but named data beside it. Delegates and methods can share them, and
// their bytes are streamed from their source. (The runtime frees the payload after reading it, but keeps
// named constants that other nodes than packing ones use.)
#pragma once

#include <memory>
#include <vector>

#include "backends/xnnpack/graph.h"
#include "depute/program/program.h"

namespace depute::xnnpack {

struct Payload {
  std::shared_ptr<const Storage> bytes;
  std::vector<NamedData> named_data;  // without duplicate keys, in order of first use
};

// `graph` is the result of assign_layouts(). Dynamic sizes are written as their upper bounds.
Payload write_payload(const XnnGraph& graph);

// Returns the maximum of a dimension from its symbols' ranges; nullopt if unbounded or too large to write.
std::optional<std::uint32_t> upper_bound(const SymInt& size, const Ranges& ranges);

}  // namespace depute::xnnpack
