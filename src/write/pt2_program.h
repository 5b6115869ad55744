// Serializes a program of one method in torch's schema: the content of models/model.json in a .pt2 archive.
//
//   %y: f32[2] = aten.relu.default(%x)
//     ->  {"target": "torch.ops.aten.relu.default",
//          "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}],
//          "outputs": [{"as_tensor": {"name": "y"}}], ...}
#pragma once

#include <nlohmann/json.hpp>

#include "depute/compiler/exported_model.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

struct Pt2Options : TorchSchemaOptions {
  // For exir_program.h: debug handles and whole module stacks of nodes, and sizes as infix text.
  bool is_exir = false;
};

// Fails in the same cases as torch_schema().
Result<nlohmann::ordered_json> pt2_program(const Program& program, const Method& method,
                                           const Pt2Options& options = {});

// Returns the name of a node's call. For several results or a list, torch makes a node for each result and one
// for the call, so the call needs a distinct name.
std::string pt2_call_name(const Node& node);

// One line; invalid UTF-8 is replaced.
std::string pt2_text(const nlohmann::ordered_json& json);

// Returns the TensorMeta of a constant; `offset` counts elements from the start of its storage.
nlohmann::ordered_json pt2_tensor_meta(const TensorType& type, std::int64_t offset);

}  // namespace depute
