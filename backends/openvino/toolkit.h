// Facts about the linked OpenVINO on this machine, collected once in a child process: the ops that it
// converts, and the requirements of its blobs.
#pragma once

#include <string>
#include <unordered_set>

#include "blob.h"
#include "depute/program/result.h"

namespace depute::openvino {

struct Toolkit {
  BlobTarget target;
  std::unordered_set<std::string> ops;  // "aten.add.Tensor"
};

// Fails if the CPU plugin cannot be loaded. Thread-safe.
const Result<Toolkit>& toolkit();

}  // namespace depute::openvino
