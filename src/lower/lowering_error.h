// Makes errors of partitioners, the carver and backends: each has a stable id (LoweringFault in to_backend.h)
// and names its place.
//
//   error[to_backend.split-state] method forward, buffer 'count', tag t0: buffer 'count' is mutated, and ...
#pragma once

#include <string>
#include <string_view>

#include "depute/compiler/to_backend.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

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
