// Rows of a support matrix as JSON, for support_json() and for workers.
#pragma once

#include <nlohmann/json.hpp>

#include "depute/backend/registry.h"

namespace depute {

nlohmann::ordered_json json_of(const SupportRow& row);
// Throws nlohmann::json exceptions for malformed JSON. Only "op" is required.
SupportRow support_row_of(const nlohmann::ordered_json& json);

}  // namespace depute
