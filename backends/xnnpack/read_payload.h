// Opens a payload that someone wrote: this backend (verify_payload.h), a file of unknown origin
// (describe_payload.h). Nothing in the bytes is trusted. What comes out can be followed: the header's places
// lie inside, the flatbuffer is sound, no table or vector is missing that a reader asks for, and lists of
// dimensions are short.
//
//   bytes  ->  graph (payload.fbs), constants behind it  |  "[xnnpack] byte 14: a flatbuffer of 99 bytes ..."
//
// Whether XNNPACK takes what is written there is another question, which verify_payload.h answers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "depute/result.h"
#include "graph.h"
#include "payload_generated.h"

namespace depute::xnnpack {

struct OpenPayload {
  const wire::Graph* graph = nullptr;
  std::span<const std::byte> flatbuffer;  // as it lies in the bytes given
  std::span<const std::byte> constants;   // written inline, behind the flatbuffer
  std::vector<std::byte> aligned;         // the flatbuffer, where the bytes given lie at odd places
};

// Points into `bytes`, which must stay.
Result<OpenPayload> open_payload(std::span<const std::byte> bytes);
// Of bytes that write_payload has just given: the flatbuffer's own structure is the library's, and not
// checked.
Result<OpenPayload> open_written(std::span<const std::byte> bytes);

// Every value is one of these; the quantisation's type is None of one that has none.
const wire::Tensor& tensor_of(const wire::Value& value);
const wire::QuantTensor* quantised_of(const wire::Value& value);

// What a node reads and writes, as ids of values. Spans of a temporary do not compile.
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

// Calls `visit` with the node's table: a wire::Unary, wire::Binary, ... False for a kind that is not known.
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
  // Up to Cos the graph's kinds are these.
  const auto kind = static_cast<NodeKind>(node.node_type());
  if (is_binary(kind) || kind == NodeKind::BatchMatrixMultiply)
    return as(static_cast<const wire::Binary*>(nullptr));
  if (is_unary(kind) || kind == NodeKind::Softmax || kind == NodeKind::GlobalAvgPooling2d)
    return as(static_cast<const wire::Unary*>(nullptr));
  return false;
}

Operands operands_of(const wire::Node& node);

// The elements of a list that may be absent.
inline std::span<const std::uint32_t> numbers(const flatbuffers::Vector<std::uint32_t>* list) {
  return list == nullptr ? std::span<const std::uint32_t>() : std::span(list->data(), list->size());
}

}  // namespace depute::xnnpack
