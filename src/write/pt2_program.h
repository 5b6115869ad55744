// A program of one method in the words of torch's schema: what models/model.json of a .pt2 archive holds.
//
//   %y: f32[2] = aten.relu.default(%x)   ->   {"target": "torch.ops.aten.relu.default", "inputs": [{"name":
//   "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}], "outputs": [{"as_tensor": {"name": "y"}}], ...}
#pragma once

#include <nlohmann/json.hpp>

#include "depute/exported_model.h"
#include "depute/program.h"
#include "depute/result.h"

namespace depute {

// Fails as torch_schema() does.
Result<nlohmann::ordered_json> pt2_program(const Program& program, const Method& method,
                                           const TorchSchemaOptions& options = {});

std::string json_text(const nlohmann::ordered_json& json);

// A TensorMeta of a constant that lies `offset` elements behind the start of its storage.
nlohmann::ordered_json pt2_tensor_meta(const TensorType& type, std::int64_t offset);

}  // namespace depute
