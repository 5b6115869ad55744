// A graph of ours as OpenVINO's PyTorch frontend reads models: a decoder for the whole, and one for each
// node.
//
//   %y, %mean, %rstd = aten.native_layer_norm.default(%x, [8], %w, none, 1e-05)
//
//     get_attr                                    %w, a constant over the mapped file: no copy
//     aten.native_layer_norm.default              %x, inlined [8], %w, inlined none, inlined 1e-05
//     <built-in function getitem>                 one for each result that is used
//
// Nodes can be left out: their results then come in as inputs.
#pragma once

#include <openvino/frontend/pytorch/decoder.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "depute/program.h"

namespace depute::openvino {

// The element type of the same values; none: OpenVINO has no such tensors, or computes with others instead.
std::optional<ov::element::Type> element_type(ScalarType dtype);

// The sizes of a tensor type that is static.
ov::Shape shape_of(const TensorType& type);

// Which part of a graph is read, and what comes in and goes out, each value once.
struct GraphPart {
  const Program* program = nullptr;
  const Method* method = nullptr;  // of the graph: whose inputs may be constants
  const Graph* graph = nullptr;
  std::function<bool(const Node&)> includes = {};
  std::vector<const Value*> inputs = {};   // tensors
  std::vector<const Value*> outputs = {};  // tensors
};

// The constant of a graph input; null for other values, and for the inputs of bodies.
const TensorData* constant_of(const GraphPart& part, const Value& value);

// All nodes of the method's own graph, with its user inputs and, each once, what it returns.
GraphPart whole_graph(const Program& program, const Method& method);

// The part of `whole` with only these nodes: what they read of others comes in, what others read, or nobody,
// goes out.
GraphPart part_of_nodes(const GraphPart& whole, std::function<bool(const Node&)> includes);

// What a marked node of OpenVINO tells of ours.
inline constexpr const char* origin_key = "depute_node";

// The decoder must not outlive the program. `marks_nodes`: each node that OpenVINO makes knows the Node::id()
// that it was made for, by origin_key in its runtime information.
std::shared_ptr<ov::frontend::IDecoder> make_decoder(const GraphPart& part, bool marks_nodes);

// The op's name in OpenVINO's table: its own, but for copies, which ExecuTorch has ops of its own for. The
// order of dimensions that these may ask for is none where tensors are contiguous.
std::string table_name(Symbol op);

// The name of the model's input or output number `index`.
std::string input_name(std::size_t index);

}  // namespace depute::openvino
