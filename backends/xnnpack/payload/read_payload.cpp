#include "payload/read_payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "payload/payload_header.h"
#include "support/try.h"

namespace depute::xnnpack {
namespace {

constexpr std::size_t max_depth = 16;    // nesting of tables; the format needs 5
constexpr std::size_t max_numbers = 16;  // length of a list of dimensions; XNNPACK allows 6

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t offset) {
  T number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

Failure fail(std::string_view place, std::string message) {
  return failure("xnnpack", place, std::move(message));
}

// Description of a fault, or empty.
using Fault = std::string;

Fault check_list(const flatbuffers::Vector<std::uint32_t>* list) {
  if (list == nullptr) return "a list is missing";
  if (list->size() > max_numbers) return fmt::format("{} dimensions are too many", list->size());
  return {};
}

Fault check_lists(const flatbuffers::Vector<std::uint32_t>* first,
                  const flatbuffers::Vector<std::uint32_t>* second) {
  Fault fault = check_list(first);
  return fault.empty() ? check_list(second) : fault;
}

// Checks the lists of each table.
struct CheckLists {
  Fault operator()(const wire::Transpose& node) const { return check_list(node.perm()); }
  Fault operator()(const wire::Reshape& node) const { return check_list(node.shape()); }
  Fault operator()(const wire::ConstantPad& node) const { return check_lists(node.before(), node.after()); }
  Fault operator()(const wire::Slice& node) const { return check_lists(node.offsets(), node.sizes()); }
  template <typename Table>
  Fault operator()(const Table&) const {
    return {};
  }
};

Fault check_value(const wire::Value& value) {
  const wire::QuantTensor* quantized = quantized_of(value);
  const wire::Tensor* tensor = quantized != nullptr ? quantized->tensor() : value.value_as_Tensor();
  if (tensor == nullptr) return "is not a tensor";
  if (tensor->dims() != nullptr) {
    if (Fault fault = check_list(tensor->dims()); !fault.empty()) return fault;
  }
  if (quantized == nullptr) return {};
  const bool is_known = quantized->quant_type() != wire::Quant::NONE &&
                        quantized->quant_type() <= wire::Quant::MAX && quantized->quant() != nullptr;
  return is_known ? "" : "its quantization parameters are missing";
}

Fault check_node(const wire::Node& node) {
  if (node.node() == nullptr || node.node_type() == wire::NodeUnion::NONE) return "is empty";
  Fault fault;
  visit_body(node, [&](const auto& table) { fault = CheckLists()(table); });
  return fault;
}

// Keys may share bytes in a crafted payload, so their total length is checked.
Status check_constants(const wire::Graph& graph, std::size_t bytes) {
  if (graph.constants() == nullptr) return {};
  std::size_t key_bytes = 0;
  for (const wire::Constant* constant : *graph.constants()) {
    key_bytes += constant->key() == nullptr ? 0 : constant->key()->size();
  }
  if (key_bytes > bytes) return fail("constants", "their keys are longer than the payload");
  return {};
}

Status check_graph(const wire::Graph& graph, std::size_t bytes) {
  if (graph.values() == nullptr) return fail("values", "the list is missing");
  if (graph.nodes() == nullptr) return fail("nodes", "the list is missing");
  for (std::uint32_t i = 0; i < graph.values()->size(); ++i) {
    if (Fault fault = check_value(*graph.values()->Get(i)); !fault.empty())
      return fail(fmt::format("values[{}]", i), fault);
  }
  for (std::uint32_t i = 0; i < graph.nodes()->size(); ++i) {
    if (Fault fault = check_node(*graph.nodes()->Get(i)); !fault.empty())
      return fail(fmt::format("nodes[{}]", i), fault);
  }
  return check_constants(graph, bytes);
}

struct Header {
  std::span<const std::byte> flatbuffer;
  std::span<const std::byte> constants;
};

Result<Header> read_header(std::span<const std::byte> bytes) {
  if (bytes.size() < flatbuffer_offset) return fail("byte 0", fmt::format("only {} bytes", bytes.size()));
  if (std::memcmp(bytes.data() + magic_position, magic.data(), magic.size()) != 0)
    return fail("byte 4", fmt::format("not a payload of XNNPACK (no \"{}\" here)", magic));
  const std::size_t offset = number_at<std::uint32_t>(bytes, offset_position);
  const std::size_t size = number_at<std::uint32_t>(bytes, size_position);
  const std::size_t constants = number_at<std::uint32_t>(bytes, constants_position);
  const auto constant_bytes = number_at<std::uint64_t>(bytes, constants_size_position);
  if (offset < flatbuffer_offset || offset > bytes.size() || size > bytes.size() - offset) {
    return fail(fmt::format("byte {}", offset_position),
                fmt::format("a flatbuffer of {} bytes at {} in a payload of {}", size, offset, bytes.size()));
  }
  if (constants < offset + size || constants > bytes.size() || constant_bytes > bytes.size() - constants) {
    return fail(fmt::format("byte {}", constants_position),
                fmt::format("{} bytes of constants at {} in a payload of {}", constant_bytes, constants,
                            bytes.size()));
  }
  return Header{bytes.subspan(offset, size), bytes.subspan(constants, constant_bytes)};
}

bool has_identifier(std::span<const std::byte> flatbuffer) {
  constexpr std::size_t least = 2 * sizeof(std::uint32_t);
  if (flatbuffer.size() < least) return false;
  const std::string_view found(reinterpret_cast<const char*>(flatbuffer.data()) + sizeof(std::uint32_t), 4);
  return found == wire::GraphIdentifier() || found == "XN00";
}

enum class Structure : std::uint8_t { Checked, Known };

Result<OpenPayload> open(std::span<const std::byte> bytes, Structure structure) {
  TRY(Header header, read_header(bytes));
  OpenPayload payload{
      .graph = nullptr, .flatbuffer = header.flatbuffer, .constants = header.constants, .aligned = {}};
  std::span<const std::byte> flatbuffer = header.flatbuffer;
  if (!has_identifier(flatbuffer)) return fail("flatbuffer", "does not have XNNPACK's file identifier");
  if (flatbuffer.size() >= std::numeric_limits<std::int32_t>::max())
    return fail("flatbuffer", "is larger than 2 GB");
  if (reinterpret_cast<std::uintptr_t>(flatbuffer.data()) % alignof(std::max_align_t) != 0) {
    payload.aligned.assign(flatbuffer.begin(), flatbuffer.end());
    flatbuffer = payload.aligned;
  }
  const auto* start = reinterpret_cast<const std::uint8_t*>(flatbuffer.data());
  if (structure == Structure::Known) {
    payload.graph = wire::GetGraph(start);
    return payload;
  }
  // Shared tables are counted each time they are reached.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(flatbuffer.size() / 4 + 1024);
  flatbuffers::Verifier verifier(start, flatbuffer.size(), max_depth, max_tables);
  if (!verifier.VerifyBuffer<wire::Graph>(nullptr)) return fail("flatbuffer", "is damaged");
  payload.graph = wire::GetGraph(start);
  TRY_STATUS(check_graph(*payload.graph, bytes.size()));
  return payload;
}

}  // namespace

Result<OpenPayload> open_payload(std::span<const std::byte> bytes) {
  return open(bytes, Structure::Checked);
}

Result<OpenPayload> open_written(std::span<const std::byte> bytes) {
  return open(bytes, Structure::Known);
}

const wire::QuantTensor* quantized_of(const wire::Value& value) {
  return value.value_as_QuantTensor();
}

const wire::Tensor& tensor_of(const wire::Value& value) {
  const wire::QuantTensor* quantized = quantized_of(value);
  return quantized != nullptr ? *quantized->tensor() : *value.value_as_Tensor();
}

namespace {

struct FindOperands {
  wire::NodeUnion kind;

  static Operands of(std::initializer_list<std::uint32_t> inputs, std::uint32_t output) {
    Operands operands;
    operands.input_count = inputs.size();
    std::ranges::copy(inputs, operands.input_ids.begin());
    operands.output_ids[0] = output;
    operands.output_count = 1;
    return operands;
  }
  Operands operator()(const wire::Binary& node) const {
    return of({node.left(), node.right()}, node.output());
  }
  Operands operator()(const wire::FullyConnected& node) const {
    return of({node.input(), node.filter(), node.bias()}, node.output());
  }
  Operands operator()(const wire::Convolution& node) const {
    return of({node.input(), node.filter(), node.bias()}, node.output());
  }
  Operands operator()(const wire::Concat& node) const {
    Operands operands =
        of({node.input1(), node.input2(), node.input3(), node.input4(), node.input5()}, node.output());
    using enum wire::NodeUnion;
    operands.input_count = kind == Concat2 ? 2 : kind == Concat3 ? 3 : kind == Concat4 ? 4 : 5;
    return operands;
  }
  Operands operator()(const wire::Attention& node) const {
    return of({node.query(), node.key(), node.value(), node.scale(), node.mask()}, node.output());
  }
  Operands operator()(const wire::ArgMaxPooling& node) const {
    Operands operands = of({node.input()}, node.output_value());
    operands.output_ids[1] = node.output_index();
    operands.output_count = 2;
    return operands;
  }
  template <typename Table>
  Operands operator()(const Table& node) const {
    return of({node.input()}, node.output());
  }
};

}  // namespace

Operands operands_of(const wire::Node& node) {
  Operands operands;
  visit_body(node, [&](const auto& table) { operands = FindOperands{node.node_type()}(table); });
  return operands;
}

}  // namespace depute::xnnpack
