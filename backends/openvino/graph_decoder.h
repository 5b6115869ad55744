// Presents a graph to OpenVINO's PyTorch frontend: a decoder for the whole graph, and one for each node.
//
//   %y, %mean, %rstd = aten.native_layer_norm.default(%x, [8], %w, none, 1e-05)
//
//     get_attr                                    %w, a constant over the mapped file: no copy
//     aten.native_layer_norm.default              %x, inlined [8], %w, inlined none, inlined 1e-05
//     <built-in function getitem>                 one for each result that is used
//
// Nodes can be left out: their results then become inputs.
#pragma once

#include <openvino/frontend/pytorch/decoder.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "depute/program/program.h"

namespace depute::openvino {

// Returns OpenVINO's element type, or nullopt if it has no such tensors or computes them in another type.
std::optional<ov::element::Type> element_type(ScalarType dtype);

// Returns the sizes of a static tensor type.
ov::Shape shape_of(const TensorType& type);

// A part of a graph with its inputs and outputs, without duplicates.
struct GraphPart {
  const Program* program = nullptr;
  const Method* method = nullptr;  // the graph's method, whose inputs may be constants
  const Graph* graph = nullptr;
  std::function<bool(const Node&)> includes = {};
  std::vector<const Value*> inputs = {};   // tensors
  std::vector<const Value*> outputs = {};  // tensors
};

// Returns the constant of a graph input. Null for other values, and for inputs of bodies.
const TensorData* constant_of(const GraphPart& part, const Value& value);

// Returns all nodes of the method's own graph, with its user inputs and its results without duplicates.
GraphPart whole_graph(const Program& program, const Method& method);

// Returns the part of `whole` with these nodes only. Inputs are values from other nodes. Outputs are values
// that other nodes read or that have no readers.
GraphPart part_of_nodes(const GraphPart& whole, std::function<bool(const Node&)> includes);

// Runtime information key with the id of a program node.
inline constexpr const char* origin_key = "depute_node";

// The program must outlive the decoder. With `marks_nodes`, each OpenVINO node stores the Node::id() that it
// was made for under origin_key.
std::shared_ptr<ov::frontend::IDecoder> make_decoder(const GraphPart& part, bool marks_nodes);

// Returns the op's name in OpenVINO's table: its own name, except for ExecuTorch's copy ops. Their dim_order
// argument has no effect on contiguous tensors.
std::string table_name(Name op);

// The name of the model's input or output number `index`.
std::string input_name(std::size_t index);

}  // namespace depute::openvino
