// Opens a payload of any origin: from this backend (verify_payload.h), or from an unknown file
// (describe_payload.h). The bytes are not trusted. After open_payload() all header offsets are in range, the
// flatbuffer is valid, required tables and vectors exist, and lists of dimensions are short.
//
//   bytes  ->  graph (payload.fbs), constants behind it  |  "[xnnpack] byte 14: a flatbuffer of 99 bytes ..."
//
// verify_payload.h checks whether XNNPACK accepts the content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/xnnpack/graph.h"
#include "depute/program/result.h"
#include "payload_generated.h"

namespace depute::xnnpack {

struct OpenPayload {
  const wire::Graph* graph = nullptr;
  std::span<const std::byte> flatbuffer;  // position in the given bytes
  std::span<const std::byte> constants;   // inline constants behind the flatbuffer
  std::vector<std::byte> aligned;         // copy of the flatbuffer if the given bytes are unaligned
};

// The result points into `bytes`, which must outlive it.
Result<OpenPayload> open_payload(std::span<const std::byte> bytes);
// For bytes that write_payload() has just returned: skips the verification of the flatbuffer.
Result<OpenPayload> open_written(std::span<const std::byte> bytes);

// Each value has a tensor, or a quantized tensor around one (quantized_of(), else null).
const wire::Tensor& tensor_of(const wire::Value& value);
const wire::QuantTensor* quantized_of(const wire::Value& value);

// Ids of the values that a node reads and writes. Spans of a temporary do not compile.
struct Operands {
  std::array<std::uint32_t, 5> input_ids{};
  std::size_t input_count = 0;
  std::array<std::uint32_t, 2> output_ids{};
  std::size_t output_count = 0;

  std::span<const std::uint32_t> inputs() const& { return {input_ids.data(), input_count}; }
  std::span<const std::uint32_t> inputs() const&& = delete;
  std::span<const std::uint32_t> outputs() const& { return {output_ids.data(), output_count}; }
  std::span<const std::uint32_t> outputs() const&& = delete;
};

// Calls `visit` with the node's table: a wire::Unary, wire::Binary, ... Returns false for an unknown kind.
template <typename Visit>
bool visit_body(const wire::Node& node, Visit&& visit) {
  const auto as = [&]<typename Table>(const Table*) {
    visit(*static_cast<const Table*>(node.node()));
    return true;
  };
  using enum wire::NodeUnion;
  switch (node.node_type()) {
    case Conv2d:
    case DepthwiseConv2d:
    case ConvTranspose2d:
      return as(static_cast<const wire::Convolution*>(nullptr));
    case AvgPooling2d:
    case MaxPooling2d:
      return as(static_cast<const wire::Pooling*>(nullptr));
    case Concat2:
    case Concat3:
    case Concat4:
    case Concat5:
      return as(static_cast<const wire::Concat*>(nullptr));
    case FullyConnected:
      return as(static_cast<const wire::FullyConnected*>(nullptr));
    case Transpose:
      return as(static_cast<const wire::Transpose*>(nullptr));
    case ResizeBilinear:
      return as(static_cast<const wire::ResizeBilinear*>(nullptr));
    case ConstantPad:
      return as(static_cast<const wire::ConstantPad*>(nullptr));
    case Reshape:
      return as(static_cast<const wire::Reshape*>(nullptr));
    case ArgMaxPooling:
      return as(static_cast<const wire::ArgMaxPooling*>(nullptr));
    case Leaky:
      return as(static_cast<const wire::Leaky*>(nullptr));
    case Elu:
      return as(static_cast<const wire::Elu*>(nullptr));
    case Slice:
      return as(static_cast<const wire::Slice*>(nullptr));
    case Attention:
      return as(static_cast<const wire::Attention*>(nullptr));
    default:
      break;
  }
  // Up to Cos the graph's kinds equal the wire format's.
  const auto kind = static_cast<NodeKind>(node.node_type());
  if (is_binary(kind) || kind == NodeKind::BatchMatrixMultiply)
    return as(static_cast<const wire::Binary*>(nullptr));
  if (is_unary(kind) || kind == NodeKind::Softmax || kind == NodeKind::GlobalAvgPooling2d)
    return as(static_cast<const wire::Unary*>(nullptr));
  return false;
}

Operands operands_of(const wire::Node& node);

// Returns the elements of a list that may be absent.
inline std::span<const std::uint32_t> numbers(const flatbuffers::Vector<std::uint32_t>* list) {
  return list == nullptr ? std::span<const std::uint32_t>() : std::span(list->data(), list->size());
}

}  // namespace depute::xnnpack
