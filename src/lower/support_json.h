// Rows of a support matrix as JSON, for `depute backends NAME --json` and for workers.
//
//   {"op": "aten.tan.default", "conditions": "", "types": ["f32"], "mixes_types": false, "layouts": [],
//    "forms": [[{"of": "x", "kind": "rank", "least": 1, "most": 4}]]}
#pragma once

#include <nlohmann/json.hpp>

#include "depute/backend/registry.h"

namespace depute {

nlohmann::ordered_json json_of(const SupportRow& row);
// Throws nlohmann::json exceptions for malformed JSON. Only "op" is required.
SupportRow support_row_of(const nlohmann::ordered_json& json);

}  // namespace depute
