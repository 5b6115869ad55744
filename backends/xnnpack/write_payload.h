// Writes a graph as the payload that ExecuTorch's XnnpackBackend reads.
//
//   30-byte header, padded to 32 | flatbuffer (payload.fbs), padded to 16
//
// Constants do not lie in the payload: they are named data beside it, so that delegates and methods share
// them and their bytes are streamed from where they are. (The runtime frees the payload once it has read it,
// but keeps named constants that nodes other than the packing ones refer to.)
#pragma once

#include <memory>
#include <vector>

#include "depute/program.h"
#include "graph.h"

namespace depute::xnnpack {

struct Payload {
  std::shared_ptr<const Storage> bytes;
  std::vector<NamedData> named_data;  // each key once, in order of first use
};

// `graph` as assign_layouts leaves it. Sizes that are not constant are written as their upper bounds.
Payload write_payload(const XnnGraph& graph, const Ranges& ranges);

// The largest size of a dimension, from the ranges of its symbols; nothing when none is known or it is too
// large to be written.
std::optional<std::uint32_t> upper_bound(const SymInt& size, const Ranges& ranges);

}  // namespace depute::xnnpack
