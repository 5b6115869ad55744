// Converts graphs to OpenVINO models, and lists the ops that the linked library converts.
//
// All functions must run in a child process (child_process.h): each conversion advances the counter of
// OpenVINO's node names, which are part of the bytes.
#pragma once

#include <openvino/core/model.hpp>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "depute/program/result.h"
#include "graph_decoder.h"

namespace depute::openvino {

// Returns the ops that the linked library converts, in its own order: "aten.add.Tensor", ...
std::vector<std::string> convertible_ops();

// Returns a model with the part's inputs as parameters and one result per element of `returned`, in order.
// Element types and shapes are those of the values. Fails if OpenVINO cannot convert a node.
Result<std::shared_ptr<ov::Model>> convert(const GraphPart& part, const std::vector<const Value*>& returned);

// Returns the nodes that OpenVINO does not convert, with reasons, by Node::id(). Nodes that fail only because
// they depend on another failed node are left out.
std::unordered_map<std::uint32_t, std::string> find_unconvertible(const GraphPart& part);

}  // namespace depute::openvino
