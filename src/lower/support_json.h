// Lines of a support matrix as JSON: what `depute backends NAME --json` prints and workers tell.
//
//   {"op": "aten.tan.default", "conditions": "", "types": ["f32"], "mixes_types": false, "layouts": [],
//    "forms": [[{"of": "x", "kind": "rank", "least": 1, "most": 4}]]}
#pragma once

#include <nlohmann/json.hpp>

#include "depute/registry.h"

namespace depute {

nlohmann::ordered_json json_of(const SupportRow& row);
// Throws what nlohmann::json throws for JSON that is none of this. Only "op" must be there.
SupportRow support_row_of(const nlohmann::ordered_json& json);

}  // namespace depute
