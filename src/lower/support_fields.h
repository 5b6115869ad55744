// Rows of a support matrix as JSON, for `depute backends NAME --json` and for workers.
//
//   {"op": "aten.tan.default", "conditions": "", "types": ["f32"], "mixes_types": false, "layouts": [],
//    "forms": [[{"of": "x", "kind": "rank", "least": 1, "most": 4}]]}
#pragma once

#include "depute/backend/registry.h"
#include "support/fields.h"

namespace depute {

void fields(auto& visit, SupportLimit& limit) {
  visit.optional("of", limit.of, "kind", limit.kind);
  visit.omit_empty("least", limit.least, "most", limit.most, "values", limit.values);
}

void fields(auto& visit, SupportRow& row) {
  visit("op", row.op);
  visit.optional("conditions", row.conditions, "types", row.types, "mixes_types", row.mixes_types, "layouts",
                 row.layouts, "forms", row.forms);
}

}  // namespace depute
