// What the linked OpenVINO says of itself on this machine, asked once in a child process: the ops that it
// converts, and what its blobs ask of the runtime that imports them.
#pragma once

#include <string>
#include <unordered_set>

#include "blob.h"
#include "depute/result.h"

namespace depute::openvino {

struct Toolkit {
  BlobTarget target;
  std::unordered_set<std::string> ops;  // "aten.add.Tensor"
};

// Fails where the plugin for CPUs cannot be loaded. Thread-safe.
const Result<Toolkit>& toolkit();

}  // namespace depute::openvino
