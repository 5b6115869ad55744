// Between our graphs and OpenVINO's models: what the linked library converts, and the conversion itself.
//
// All of it must run in a child process (child_process.h): each conversion moves the counter by which
// OpenVINO names nodes, and names are in the bytes.
#pragma once

#include <openvino/core/model.hpp>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "depute/result.h"
#include "graph_decoder.h"

namespace depute::openvino {

// The ops that the linked library has conversions for, in its own order: "aten.add.Tensor", ...
std::vector<std::string> convertible_ops();

// A model with the part's inputs as parameters and a result for each of `returned`, in their orders; element
// types and shapes are those of the values. Fails where OpenVINO cannot convert a node.
Result<std::shared_ptr<ov::Model>> convert(const GraphPart& part, const std::vector<const Value*>& returned);

// Why OpenVINO does not convert some nodes of the part, by Node::id(); nothing when it converts all of them.
// Nodes that are not converted only since others are not are not told.
std::unordered_map<std::uint32_t, std::string> find_unconvertible(const GraphPart& part);

}  // namespace depute::openvino
