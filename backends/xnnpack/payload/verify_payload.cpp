#include "payload/verify_payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "graph.h"
#include "node_shapes.h"
#include "node_text.h"
#include "node_types.h"
#include "passes/table_chains.h"
#include "payload/read_payload.h"

namespace depute::xnnpack {
namespace {

using wire::DataType;

constexpr std::size_t max_tables = 1'000'000;       // maximum that the runtime's flatbuffer verifier accepts
constexpr std::uint64_t named = ~std::uint64_t{0};  // offset of a constant that is named data
constexpr std::uint64_t max_elements = std::uint64_t{1} << 48;

bool is_scale(float scale) {
  return std::isnormal(scale) && scale > 0;
}

template <typename List>
std::size_t length_of(const List* list) {
  return list == nullptr ? 0 : list->size();
}

// Size of a constant in bytes. Each row of a 4-bit constant starts at a byte.
std::uint64_t bytes_of(DataType type, std::span<const std::uint32_t> dims) {
  std::uint64_t elements = 1;
  for (std::uint32_t dim : dims) elements *= dim;
  switch (type) {
    case DataType::QCInt4:
    case DataType::QBInt4:
      return dims.empty() ? 0 : elements / dims.back() * ((std::uint64_t{dims.back()} + 1) / 2);
    case DataType::QInt8:
    case DataType::QUInt8:
    case DataType::QCInt8:
      return elements;
    case DataType::F16:
    case DataType::BF16:
      return elements * 2;
    default:
      return elements * 4;
  }
}

struct Entry {
  std::uint32_t id = 0;
  const wire::Tensor* tensor = nullptr;
  const wire::QuantTensor* quantized = nullptr;
  bool is_ready = false;   // a node may read it
  bool is_packed = false;  // the runtime frees it after packing
  bool is_kept = false;    // the runtime reads it in place
  bool varies = false;

  std::span<const std::uint32_t> dims() const { return numbers(tensor->dims()); }
  DataType type() const { return tensor->datatype(); }
  bool is_input() const { return (tensor->flags() & 1) != 0; }
  bool is_output() const { return (tensor->flags() & 2) != 0; }
  const wire::TensorQuant* scale() const {
    return quantized == nullptr ? nullptr : quantized->quant_as_TensorQuant();
  }
};

// The fault of a value or node; empty if there is none.
using Text = std::string;

class PayloadVerifier {
 public:
  PayloadVerifier(const wire::Graph& graph, const std::vector<bool>& varies)
      : graph_(graph), varies_(varies) {}

  std::optional<PayloadFault> run(std::span<const NamedData> named_data) {
    for (const NamedData& data : named_data) sizes_.emplace(data.key, data.storage->size());
    if (Text text = check_whole(); !text.empty()) return PayloadFault{{}, text};
    for (std::uint32_t row = 0; row < length_of(graph_.constants()); ++row) {
      Text text = check_row(row, *graph_.constants()->Get(row));
      if (!text.empty()) return PayloadFault{{}, fmt::format("constant {}: {}", row, text)};
    }
    if (Text text = add_values(); !text.empty()) return PayloadFault{{}, text};
    for (Entry& value : values_) {
      Text text = check_value(value);
      if (!text.empty()) return PayloadFault{{}, fmt::format("value %{}: {}", value.id, text)};
    }
    for (std::uint32_t i = 0; i < graph_.nodes()->size(); ++i) {
      const wire::Node& node = *graph_.nodes()->Get(i);
      Text text = check_node(node);
      if (text.empty()) continue;
      const std::string kind = kind_name(static_cast<NodeKind>(node.node_type()));
      return PayloadFault{i, fmt::format("node {}, {}: {}", i, kind, text)};
    }
    if (const auto fault = check_chains()) return fault;
    return check_results();
  }

 private:
  // --- whole graph

  // A node has a table, a body and possibly a range; a value has a table, a tensor and possibly a
  // quantization.
  std::size_t count_tables() const {
    std::size_t tables =
        1 + length_of(graph_.constants()) + 2 * graph_.nodes()->size() + 2 * graph_.values()->size();
    for (const wire::Node* node : *graph_.nodes()) tables += node->output_range() == nullptr ? 0 : 1;
    for (const wire::Value* value : *graph_.values()) tables += quantized_of(*value) == nullptr ? 0 : 2;
    return tables;
  }

  Text check_whole() const {
    if (const std::size_t tables = count_tables(); tables > max_tables)
      return fmt::format("{} tables; the limit is {}", tables, max_tables);
    if (graph_.external_count() > max_externals)
      return fmt::format("{} arguments and results; the limit is {}", graph_.external_count(), max_externals);
    if (length_of(graph_.constants()) == 0) return "the list of constants has no row 0";
    return {};
  }

  Text check_row(std::uint32_t row, const wire::Constant& constant) const {
    if (row == 0)
      return constant.key() == nullptr && constant.size() == 0 ? Text() : Text("row 0 must be empty");
    if (constant.key() == nullptr) return "is in the payload, which the runtime frees";
    if (constant.offset() != named) return "has both a name and an offset in the payload";
    auto found = sizes_.find(constant.key()->string_view());
    if (found == sizes_.end()) return "no named data has its key";
    if (found->second != constant.size())
      return fmt::format("is declared with {} bytes, but its data has {}", constant.size(), found->second);
    return {};
  }

  // --- values

  Text add_values() {
    values_.reserve(graph_.values()->size());
    for (const wire::Value* value : *graph_.values()) {
      const wire::Tensor& tensor = tensor_of(*value);
      const std::uint32_t id = tensor.id();
      values_.push_back({.id = id,
                         .tensor = &tensor,
                         .quantized = quantized_of(*value),
                         .varies = id < varies_.size() && varies_[id]});
    }
    if (!std::ranges::is_sorted(values_, {}, &Entry::id)) std::ranges::sort(values_, {}, &Entry::id);
    auto twice = std::ranges::adjacent_find(values_, {}, &Entry::id);
    if (twice != values_.end()) return fmt::format("value %{}: duplicate id", twice->id);
    if (!values_.empty() && values_.back().id == no_value) return "a value has the reserved id for no value";
    externals_.assign(graph_.external_count(), false);
    index_values();
    return {};
  }

  // Indexes values by id, unless the ids have large gaps.
  void index_values() {
    if (values_.empty() || values_.back().id > 16 * values_.size() + 1024) return;
    by_id_.assign(values_.back().id + 1, nullptr);
    for (Entry& value : values_) by_id_[value.id] = &value;
  }

  Entry* find(std::uint32_t id) {
    if (!by_id_.empty()) return id < by_id_.size() ? by_id_[id] : nullptr;
    auto found = std::ranges::lower_bound(values_, id, {}, &Entry::id);
    return found == values_.end() || found->id != id ? nullptr : &*found;
  }

  Text check_value(Entry& value) {
    if (Text text = check_dims(value); !text.empty()) return text;
    if (Text text = check_external(value); !text.empty()) return text;
    if (Text text = check_type(value); !text.empty()) return text;
    return check_constant(value);
  }

  static Text check_dims(const Entry& value) {
    const auto dims = value.dims();
    if (dims.size() > max_rank) return fmt::format("{} dimensions; the limit is {}", dims.size(), max_rank);
    if (dims.size() != value.tensor->rank())
      return fmt::format("rank {}, but {} dimensions", value.tensor->rank(), dims.size());
    std::uint64_t elements = 1;
    for (std::uint32_t dim : dims) {
      if (dim == 0) return "has no elements";
      if (!value.varies && elements > max_elements / dim) return "has too many elements";
      elements *= dim;
    }
    return {};
  }

  Text check_external(Entry& value) {
    const std::uint32_t id = value.tensor->external_id();
    if ((value.tensor->flags() & ~3U) != 0) return fmt::format("flags {:#x}", value.tensor->flags());
    if (value.is_input() && value.is_output()) return "is both an argument and a result";
    if ((id != no_value) != (value.tensor->flags() != 0))
      return "an external id and an external flag must occur together";
    if (id == no_value) return {};
    if (id >= externals_.size())
      return fmt::format("external id {} is out of range for {}", id, externals_.size());
    if (externals_[id]) return fmt::format("duplicate external id {}", id);
    externals_[id] = true;
    using enum DataType;
    if (value.type() != F32 && value.type() != F16 && value.type() != QInt8)
      return "has a type that arguments and results cannot have";
    value.is_ready = value.is_input();
    return {};
  }

  Text check_type(const Entry& value) const {
    using enum DataType;
    if (value.quantized == nullptr)
      return value.type() == F32 || value.type() == F16 ? Text() : Text("integers without a scale");
    if (const auto* tensor = value.scale()) return check_tensor_quant(value, *tensor);
    if (const auto* channels = value.quantized->quant_as_ChannelQuant())
      return check_channel_quant(value, *channels);
    if (const auto* groups = value.quantized->quant_as_GroupQuant()) return check_group_quant(value, *groups);
    return check_token_quant(value, *value.quantized->quant_as_TokenQuant());
  }

  static Text check_tensor_quant(const Entry& value, const wire::TensorQuant& quant) {
    using enum DataType;
    if (value.type() != QInt8 && value.type() != QInt32) return "its type does not support a single scale";
    if (!is_scale(quant.scale())) return fmt::format("scale {}", quant.scale());
    const std::int32_t zero = quant.zero_point();
    if (value.type() == QInt32 ? zero != 0 : zero < -128 || zero > 127)
      return fmt::format("zero point {}", zero);
    return {};
  }

  Text check_channel_quant(const Entry& value, const wire::ChannelQuant& quant) const {
    using enum DataType;
    if (value.type() != QCInt8 && value.type() != QCInt4 && value.type() != QCInt32)
      return "its type does not support scales per channel";
    if (quant.scale() == nullptr) return "the list of scales is missing";
    const auto dims = value.dims();
    if (quant.channel_dim() < 0 || std::cmp_greater_equal(quant.channel_dim(), dims.size()))
      return fmt::format("unsupported scales along dimension {}", quant.channel_dim());
    return check_scales(quant.scale_constant(), quant.scale_count(),
                        dims[static_cast<std::size_t>(quant.channel_dim())], sizeof(float));
  }

  Text check_group_quant(const Entry& value, const wire::GroupQuant& quant) const {
    if (value.type() != DataType::QBInt4) return "its type does not support scales per group";
    const auto dims = value.dims();
    if (dims.size() != 2) return fmt::format("scales per group require rank 2, got {}", dims.size());
    if (quant.scale() == nullptr) return "the list of scales is missing";
    if (quant.channel_dim() != 0)
      return fmt::format("unsupported scales along dimension {}", quant.channel_dim());
    const std::int32_t size = quant.group_size();
    if (size <= 0 || size % 32 != 0 || dims[1] % static_cast<std::uint32_t>(size) != 0)
      return fmt::format("groups of {} do not divide rows of {}", size, dims[1]);
    return check_scales(quant.scale_constant(), quant.scale_count(),
                        std::uint64_t{dims[0]} * (dims[1] / static_cast<std::uint32_t>(size)), 2);
  }

  static Text check_token_quant(const Entry& value, const wire::TokenQuant& quant) {
    if (value.type() != DataType::QDInt8) return "its type does not support scales per row";
    if (quant.nonbatch_dims() < 1 || std::cmp_greater(quant.nonbatch_dims(), value.dims().size()))
      return fmt::format("unsupported rows of {} dimensions", quant.nonbatch_dims());
    if (value.tensor->constant() != 0) return "a constant is quantized at run time";
    return {};
  }

  Text check_scales(std::uint32_t row, std::uint32_t count, std::uint64_t needed, std::size_t bytes) const {
    if (row == 0 || row >= graph_.constants()->size()) return "its scales must be a constant";
    const std::uint64_t written = graph_.constants()->Get(row)->size();
    if (count == needed && written == needed * bytes) return {};
    return fmt::format("{} scales in {} bytes; expected {}", count, written, needed);
  }

  Text check_constant(Entry& value) const {
    const std::uint32_t row = value.tensor->constant();
    if (row == 0) {
      using enum DataType;
      const bool is_computed = value.type() != QCInt8 && value.type() != QCInt4 && value.type() != QBInt4 &&
                               value.type() != QInt32 && value.type() != QCInt32;
      return is_computed ? Text() : Text("has a type that only constants can have");
    }
    if (row >= graph_.constants()->size()) return fmt::format("constant {} does not exist", row);
    if (value.tensor->flags() != 0) return "a constant is an argument or a result";
    const std::uint64_t needed = bytes_of(value.type(), value.dims());
    const std::uint64_t written = graph_.constants()->Get(row)->size();
    if (written != needed) return fmt::format("has {} bytes; expected {}", written, needed);
    value.is_ready = true;
    return {};
  }

  // --- nodes

  static bool packs(wire::NodeUnion kind) {
    return kind == wire::NodeUnion::FullyConnected || is_convolution(static_cast<NodeKind>(kind));
  }

  Text check_node(const wire::Node& node) {
    using enum wire::NodeUnion;
    const wire::NodeUnion kind = node.node_type();
    const Operands ids = operands_of(node);
    if (ids.outputs().size() != 1 || kind == Attention) return "a node kind that Depute does not write";
    operands_.clear();
    for (std::size_t i = 0; i < ids.input_count; ++i) {
      if (Text text = read(kind, ids.input_ids[i], i); !text.empty()) return text;
    }
    Entry* output = find(ids.output_ids[0]);
    if (output == nullptr) return fmt::format("its result %{} is not a value", ids.output_ids[0]);
    if (output->is_ready) return fmt::format("its result %{} is already computed", output->id);
    output->is_ready = true;
    if (Text text = check_range(node); !text.empty()) return text;
    if (Text text = check_flags(node); !text.empty()) return text;
    if (Text text = check_types(node, *output); !text.empty()) return text;
    if (Text text = check_scales_of(node, *output); !text.empty()) return text;
    return check_shapes(node, *output);
  }

  Text read(wire::NodeUnion kind, std::uint32_t id, std::size_t position) {
    const bool is_weight = packs(kind) && position > 0;
    if (id == no_value && is_weight && position == 2) {
      operands_.push_back(nullptr);
      return {};
    }
    Entry* operand = find(id);
    if (operand == nullptr) return fmt::format("operand {} is not a value", position);
    if (!operand->is_ready) return fmt::format("operand %{} is not computed yet", id);
    if (operand->tensor->constant() != 0) {
      (is_weight ? operand->is_packed : operand->is_kept) = true;
      if (operand->is_packed && operand->is_kept)
        return fmt::format("operand %{} is freed after another node packs it", id);
    }
    operands_.push_back(operand);
    return {};
  }

  static Text check_range(const wire::Node& node) {
    const wire::OutputRange* range = node.output_range();
    if (range == nullptr) return node.node_type() == wire::NodeUnion::Clamp ? "it has no bounds" : "";
    if (!can_clamp(static_cast<NodeKind>(node.node_type()))) return "its bounds are ignored by the runtime";
    if (std::isnan(range->min()) || std::isnan(range->max()) || range->min() > range->max())
      return fmt::format("bounds {}..{}", range->min(), range->max());
    return {};
  }

  static Text check_flags(const wire::Node& node) {
    std::uint32_t flags = 0;
    visit_body(node, [&](const auto& table) { flags = table.flags(); });
    using enum wire::NodeUnion;
    std::uint32_t allowed = 0;
    if (node.node_type() == FullyConnected || node.node_type() == BatchMatrixMultiply)
      allowed = transpose_weights;
    if (node.node_type() == ResizeBilinear) allowed = align_corners;
    if (node.node_type() == GlobalAvgPooling2d) allowed = keep_dims;
    return (flags & ~allowed) == 0 ? Text() : fmt::format("flags {:#x}", flags);
  }

  Text check_types(const wire::Node& node, const Entry& output) const {
    const wire::NodeUnion kind = node.node_type();
    if (kind == wire::NodeUnion::Convert)
      return converts(operands_[0]->type(), output.type()) ? Text() : Text("no conversion of these types");
    if (packs(kind)) return check_product_types(node, output);
    for (const Entry* operand : operands_) {
      if (operand->type() != output.type()) return "its types are mixed";
    }
    return takes_type(kind, output.type()) ? Text() : Text("it does not support this type");
  }

  Text check_product_types(const wire::Node& node, const Entry& output) const {
    const wire::NodeUnion kind = node.node_type();
    const Entry& filter = *operands_[1];
    const Entry* bias = operands_[2];
    std::optional<DataType> bias_type;
    if (bias != nullptr) bias_type = bias->type();
    if (!multiplies(kind, operands_[0]->type(), filter.type(), bias_type, output.type()))
      return "unsupported types of a product";
    const bool is_linear = kind == wire::NodeUnion::FullyConnected;
    const bool is_constant = filter.tensor->constant() != 0;
    if (!is_constant && !is_linear) return "its filter must be a constant";
    if (!is_constant && filter.quantized != nullptr) return "its filter must be a constant";
    if (bias != nullptr && bias->tensor->constant() == 0 && (!is_linear || filter.quantized != nullptr))
      return "its bias must be a constant";
    return check_weight_scales(node, filter, bias);
  }

  // Scales of weights must be along the output channels.
  Text check_weight_scales(const wire::Node& node, const Entry& filter, const Entry* bias) const {
    if (filter.scale() != nullptr && filter.scale()->zero_point() != 0) return "its filter has a zero point";
    if (bias != nullptr && bias->quantized != nullptr &&
        bias->quantized->quant_as_ChannelQuant() != nullptr &&
        bias->quantized->quant_as_ChannelQuant()->channel_dim() != 0)
      return "its bias' scales are not along dimension 0";
    const auto* channels = filter.quantized == nullptr ? nullptr : filter.quantized->quant_as_ChannelQuant();
    if (channels == nullptr) return {};
    std::size_t dim = 0;
    if (node.node_type() == wire::NodeUnion::DepthwiseConv2d) dim = filter.dims().size() - 1;
    if (const auto* linear = node.node_as_FullyConnected())
      dim = (linear->flags() & transpose_weights) != 0 ? 1 : 0;
    return std::cmp_equal(channels->channel_dim(), dim)
               ? ""
               : fmt::format("its filter has unsupported scales along dimension {}", channels->channel_dim());
  }

  // For integers: the ratio of scales must be representable in XNNPACK's kernels.
  Text check_scales_of(const wire::Node& node, const Entry& output) const {
    if (output.scale() == nullptr || output.type() != DataType::QInt8) return {};
    const wire::NodeUnion kind = node.node_type();
    const double result = output.scale()->scale();
    const auto scale = [&](std::size_t i) -> double {
      return operands_[i]->scale() == nullptr ? 1.0 : operands_[i]->scale()->scale();
    };
    const auto is_within = [](double ratio, int least, int below) {
      return ratio >= std::ldexp(1.0, least) && ratio < std::ldexp(1.0, below);
    };
    if (keeps_scale(kind)) {
      for (const Entry* operand : operands_) {
        if (operand->scale()->scale() != output.scale()->scale() ||
            operand->scale()->zero_point() != output.scale()->zero_point())
          return "its scales differ";
      }
      return {};
    }
    using enum wire::NodeUnion;
    bool fits = true;
    if (kind == Add || kind == Subtract)
      fits = is_within(scale(0) / result, -10, 8) && is_within(scale(1) / result, -10, 8);
    if (kind == Multiply) fits = is_within(scale(0) * scale(1) / result, -16, 8);
    if (const auto* leaky = node.node_as_Leaky()) {
      fits = is_within(scale(0) / result, -8, 7) &&
             is_within(std::abs(double{leaky->slope()} * scale(0) / result), -8, 7);
    }
    if (packs(kind) && operands_[1]->scale() != nullptr) fits = scale(0) * scale(1) / result < 256;
    return fits ? Text() : Text("the ratio of its scales is out of range");
  }

  Text check_shapes(const wire::Node& node, const Entry& output) {
    bool varies = output.varies;
    shapes_.clear();
    for (const Entry* operand : operands_) {
      shapes_.push_back(operand == nullptr ? Shape() : Shape(operand->dims()));
      varies |= operand != nullptr && operand->varies;
    }
    return shape_fault(node, shapes_, output.dims(), varies);
  }

  // Index in values_, which is dense; ids may have gaps.
  ValueId place_of(std::uint32_t id) { return static_cast<ValueId>(find(id) - values_.data()); }

  std::optional<PayloadFault> check_chains() {
    const auto is_small = [](const Entry& value) { return value.type() == DataType::QInt8; };
    if (std::ranges::none_of(values_, is_small)) return {};
    std::vector<TableChains::ValueFacts> facts;
    facts.reserve(values_.size());
    for (const Entry& value : values_)
      facts.push_back({.is_small = is_small(value),
                       .is_value_0 = value.tensor->external_id() == 0,
                       .is_single = value.tensor->constant() != 0 && is_single(value.dims()),
                       .readers = value.is_output() ? 1U : 0U});
    for (const wire::Node* node : *graph_.nodes()) {
      const Operands ids = operands_of(*node);
      for (const std::uint32_t id : ids.inputs())
        if (id != no_value) ++facts[place_of(id)].readers;
    }
    TableChains chains(std::move(facts));
    std::vector<ValueId> inputs;
    for (std::uint32_t i = 0; i < graph_.nodes()->size(); ++i) {
      const wire::Node& node = *graph_.nodes()->Get(i);
      const auto kind = static_cast<NodeKind>(node.node_type());
      if (!is_unary(kind) && !is_binary(kind)) continue;
      const Operands ids = operands_of(node);
      inputs.clear();
      for (const std::uint32_t id : ids.inputs()) inputs.push_back(place_of(id));
      if (const auto operand =
              chains.add(kind, inputs, place_of(ids.output_ids[0]), node.output_range() != nullptr))
        return PayloadFault{
            i, fmt::format("node {}, {}: through %{} it is in a chain that the runtime fuses incorrectly", i,
                           kind_name(kind), values_[*operand].id)};
    }
    return {};
  }

  static bool is_single(std::span<const std::uint32_t> dims) {
    return std::ranges::all_of(dims, [](std::uint32_t dim) { return dim == 1; });
  }

  std::optional<PayloadFault> check_results() const {
    for (const Entry& value : values_) {
      if (value.is_output() && !value.is_ready)
        return PayloadFault{{}, fmt::format("value %{}: no node computes this result", value.id)};
    }
    return {};
  }

  const wire::Graph& graph_;
  const std::vector<bool>& varies_;
  std::unordered_map<std::string_view, std::uint64_t> sizes_;  // named data -> size in bytes
  std::vector<Entry> values_;                                  // sorted by id
  std::vector<Entry*> by_id_;                                  // empty if ids have large gaps
  std::vector<bool> externals_;
  std::vector<Entry*> operands_;  // operands of the current node
  std::vector<Shape> shapes_;
};

std::optional<PayloadFault> find_fault(const Result<OpenPayload>& open, std::span<const NamedData> named_data,
                                       const std::vector<bool>& varies) {
  if (!open) return PayloadFault{{}, fmt::format("{}: {}", open.error().where, open.error().message)};
  return PayloadVerifier(*open->graph, varies).run(named_data);
}

}  // namespace

std::optional<PayloadFault> find_payload_fault(std::span<const std::byte> payload,
                                               std::span<const NamedData> named_data,
                                               const std::vector<bool>& varies) {
  return find_fault(open_payload(payload), named_data, varies);
}

std::optional<PayloadFault> find_fault_of_written(std::span<const std::byte> payload,
                                                  std::span<const NamedData> named_data,
                                                  const std::vector<bool>& varies) {
  return find_fault(open_written(payload), named_data, varies);
}

}  // namespace depute::xnnpack
