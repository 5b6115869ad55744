#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/small_float.h"
#include "support/try.h"
#include "tosa_generated.h"
#include "write_graph.h"

namespace depute::tosa {
namespace {

constexpr std::size_t max_printed = 8;  // numbers of a list

template <typename Numbers>
std::string list_text(const Numbers* numbers) {
  std::string text = "[";
  if (numbers == nullptr) return "[]";
  for (std::size_t i = 0; i < numbers->size() && i < 2 * max_printed; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", numbers->Get(static_cast<flatbuffers::uoffset_t>(i)));
  return text + (numbers->size() > 2 * max_printed ? ", ...]" : "]");
}

std::string_view text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

std::string bound_text(const flatbuffers::Vector<std::uint8_t>* bytes) {
  if (bytes == nullptr) return "?";
  if (bytes->size() == sizeof(float)) {
    float number = 0;
    std::memcpy(&number, bytes->data(), sizeof number);
    return fmt::format("{}", number);
  }
  std::string text = "0x";
  for (std::size_t i = bytes->size(); i-- > 0;)
    text += fmt::format("{:02x}", bytes->Get(static_cast<flatbuffers::uoffset_t>(i)));
  return text;
}

std::string attributes_text(const wire::Operator& op) {
  if (op.attribute() == nullptr) return {};
  switch (op.attribute_type()) {
    case wire::Attribute::ArgMax:
    case wire::Attribute::Concat:
    case wire::Attribute::ReduceAll:
    case wire::Attribute::ReduceAny:
    case wire::Attribute::ReduceMax:
    case wire::Attribute::ReduceMin:
    case wire::Attribute::ReduceProduct:
    case wire::Attribute::ReduceSum:
    case wire::Attribute::Reverse:
      return fmt::format(" axis {}", static_cast<const wire::Axis*>(op.attribute())->axis());
    case wire::Attribute::AvgPool2d:
    case wire::Attribute::MaxPool2d: {
      const auto& pool = *static_cast<const wire::Pool*>(op.attribute());
      return fmt::format(" kernel {} stride {} pad {}", list_text(pool.kernel()), list_text(pool.stride()),
                         list_text(pool.pad()));
    }
    case wire::Attribute::Conv2d:
    case wire::Attribute::Conv3d:
    case wire::Attribute::DepthwiseConv2d: {
      const auto& window = *static_cast<const wire::Convolution*>(op.attribute());
      return fmt::format(" pad {} stride {} dilation {}", list_text(window.pad()), list_text(window.stride()),
                         list_text(window.dilation()));
    }
    case wire::Attribute::TransposeConv2d: {
      const auto& window = *op.attribute_as_TransposeConv2d();
      return fmt::format(" out_pad {} stride {}", list_text(window.out_pad()), list_text(window.stride()));
    }
    case wire::Attribute::Clamp:
      return fmt::format(" min {} max {}", bound_text(op.attribute_as_Clamp()->min_val()),
                         bound_text(op.attribute_as_Clamp()->max_val()));
    case wire::Attribute::Transpose:
      return fmt::format(" perms {}", list_text(op.attribute_as_Transpose()->perms()));
    case wire::Attribute::Resize:
      return op.attribute_as_Resize()->mode() == static_cast<std::uint32_t>(ResizeMode::Nearest)
                 ? " nearest"
                 : " bilinear";
    case wire::Attribute::Rescale: {
      const auto& by = *op.attribute_as_Rescale();
      return fmt::format(" scale32 {} rounding {} per_channel {}", by.scale32(), by.rounding_mode(),
                         by.per_channel());
    }
    case wire::Attribute::CondIf:
    case wire::Attribute::WhileLoop: {
      const auto& bodies = *static_cast<const wire::Branches*>(op.attribute());
      const bool is_loop = op.attribute_type() == wire::Attribute::WhileLoop;
      return fmt::format(" {} {} {} {}", is_loop ? "while" : "then", text_of(bodies.first_graph()),
                         is_loop ? "do" : "else", text_of(bodies.second_graph()));
    }
    default:
      return {};
  }
}

template <typename T>
T first_element(const flatbuffers::Vector<std::uint8_t>& data) {
  T number{};
  std::memcpy(&number, data.data(), std::min<std::size_t>(data.size(), sizeof number));
  return number;
}

// The number of a constant with one element, with a space before it; integers of 4 and 48 bits, and others, have none.
std::string few_numbers(const wire::Tensor& tensor) {
  if (tensor.shape() == nullptr || tensor.shape()->size() != 1 || tensor.shape()->Get(0) != 1) return {};
  const flatbuffers::Vector<std::uint8_t>& data = *tensor.data();
  switch (static_cast<DType>(tensor.type())) {
    case DType::I8:
      return fmt::format(" {}", first_element<std::int8_t>(data));
    case DType::I16:
      return fmt::format(" {}", first_element<std::int16_t>(data));
    case DType::I32:
      return fmt::format(" {}", first_element<std::int32_t>(data));
    case DType::I64:
      return fmt::format(" {}", first_element<std::int64_t>(data));
    case DType::F16:
      return fmt::format(" {}", decode_small_float(ScalarType::F16, first_element<std::uint16_t>(data)));
    case DType::BF16:
      return fmt::format(" {}", decode_small_float(ScalarType::BF16, first_element<std::uint16_t>(data)));
    case DType::F32:
      return fmt::format(" {}", first_element<float>(data));
    default:
      return {};
  }
}

class Describer {
 public:
  std::string describe(const wire::Block& block, std::string_view title) {
    if (block.tensors() != nullptr) {
      for (const wire::Tensor* tensor : *block.tensors()) tensors_[text_of(tensor->name())] = tensor;
    }
    if (block.shapes() != nullptr) {
      for (const wire::Shape* shape : *block.shapes()) shapes_[text_of(shape->name())] = shape;
    }
    std::string text = fmt::format("{}, inputs {}\n", title, names(block.inputs()));
    if (block.operators() != nullptr) {
      for (const wire::Operator* op : *block.operators()) {
        const auto kind = static_cast<Op>(op->op());
        if (kind == Op::Const || kind == Op::ConstShape) continue;
        text += fmt::format("{} = {}({}){}\n", names(op->outputs()), name(kind), names(op->inputs()),
                            attributes_text(*op));
      }
    }
    return text + fmt::format("return {}\n", names(block.outputs(), false));
  }

 private:
  std::string names(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* list,
                    bool with_types = true) const {
    std::string text;
    if (list == nullptr) return text;
    for (const flatbuffers::String* entry : *list) {
      if (!text.empty()) text += ", ";
      text += operand(text_of(entry), with_types);
    }
    return text;
  }

  // A tensor with its type, a constant by its type, a shape by its numbers.
  std::string operand(std::string_view id, bool with_types) const {
    if (const auto shape = shapes_.find(id); shape != shapes_.end()) {
      std::vector<std::int64_t> numbers;
      if (shape->second->data() != nullptr)
        numbers.resize(shape->second->data()->size() / sizeof(std::int64_t));
      if (!numbers.empty())
        std::memcpy(numbers.data(), shape->second->data()->data(), numbers.size() * sizeof(std::int64_t));
      return fmt::format("[{}]", fmt::join(numbers, ", "));
    }
    const auto tensor = tensors_.find(id);
    if (tensor == tensors_.end() || !with_types) return std::string(id);
    const std::string type = fmt::format("{}{}", name(static_cast<DType>(tensor->second->type())),
                                         list_text(tensor->second->shape()));
    return tensor->second->data() != nullptr
               ? fmt::format("constant {}{}", type, few_numbers(*tensor->second))
               : fmt::format("{}: {}", id, type);
  }

  std::unordered_map<std::string_view, const wire::Tensor*> tensors_;
  std::unordered_map<std::string_view, const wire::Shape*> shapes_;
};

// Returns the blocks of a flatbuffer, which must be sound.
Result<std::vector<const wire::Block*>> blocks_of(std::span<const std::byte> bytes) {
  constexpr std::uint32_t max_depth = 64;
  constexpr std::uint32_t max_tables = 10'000'000;
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), max_depth,
                                 max_tables);
  if (!wire::VerifyGraphBuffer(verifier))
    return failure("tosa", "", "these bytes are no TOSA flatbuffer, or are damaged");
  std::vector<const wire::Block*> blocks;
  const auto* regions = wire::GetGraph(bytes.data())->regions();
  for (std::size_t i = 0; regions != nullptr && i < regions->size(); ++i) {
    const auto* of_region = regions->Get(static_cast<flatbuffers::uoffset_t>(i))->blocks();
    if (of_region != nullptr) blocks.insert(blocks.end(), of_region->begin(), of_region->end());
  }
  return blocks;
}

// Returns "TOSA 1.0". blocks_of() has verified the bytes.
std::string version_text(std::span<const std::byte> bytes) {
  const wire::Version* version = wire::GetGraph(bytes.data())->version();
  return version == nullptr ? "TOSA" : fmt::format("TOSA {}.{}", version->major(), version->minor());
}

}  // namespace

Result<std::string> describe_graph(std::span<const std::byte> bytes) {
  TRY(const std::vector<const wire::Block*> blocks, blocks_of(bytes));
  std::string text;
  for (const wire::Block* block : blocks) {
    const bool is_main = block == blocks.front();
    text += Describer().describe(
        *block, is_main ? version_text(bytes) : fmt::format("graph {}", text_of(block->name())));
  }
  return text;
}

// Constants are parts by themselves; what lies between them are tables.
Result<PayloadLayout> layout_of_graph(std::span<const std::byte> bytes) {
  TRY(const std::vector<const wire::Block*> blocks, blocks_of(bytes));
  std::map<std::uint64_t, PayloadPart>
      constants;  // by their offsets: tensors of a hostile file may share bytes
  for (const wire::Block* block : blocks) {
    for (std::size_t i = 0; block->tensors() != nullptr && i < block->tensors()->size(); ++i) {
      const wire::Tensor* tensor = block->tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
      if (tensor->data() == nullptr || tensor->data()->size() == 0) continue;
      const auto offset = static_cast<std::uint64_t>(
          reinterpret_cast<const std::byte*>(tensor->data()->data()) - bytes.data());
      constants[offset] = {.offset = offset,
                           .bytes = tensor->data()->size(),
                           .kind = PayloadPart::Kind::Constant,
                           .name = std::string(text_of(tensor->name()))};
    }
  }
  PayloadLayout layout;
  std::uint64_t end = 0;
  for (const auto& [offset, constant] : constants) {
    if (offset < end) continue;
    if (offset > end)
      layout.parts.push_back(
          {.offset = end, .bytes = offset - end, .kind = PayloadPart::Kind::Tables, .name = {}});
    layout.parts.push_back(constant);
    end = offset + constant.bytes;
  }
  if (bytes.size() > end)
    layout.parts.push_back(
        {.offset = end, .bytes = bytes.size() - end, .kind = PayloadPart::Kind::Tables, .name = {}});
  return layout;
}

}  // namespace depute::tosa
