// The order is that of the converter: MLIR moves each constant that it meets between operators to the front, and leaves
// those that the graph begins with.
#include "constants.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace depute::vgf {
namespace {

using tosa::DType;
using tosa::TensorId;
using tosa::TosaGraph;
using tosa::TosaTensor;
using weights::Bytes;

constexpr std::int64_t max_literal = 16;  // elements

bool is_constant(const TosaTensor& tensor) {
  return tensor.dtype == DType::Shape || tensor.constant.has_value();
}

std::size_t element_bytes(DType dtype) {
  return tosa::bit_count(dtype) / 8;
}

std::uint64_t sign_extended(std::uint64_t bits, std::size_t bytes) {
  const auto unused = static_cast<int>(64 - 8 * bytes);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
}

// The bits of an element as an OpConstant has them.
std::uint64_t element_bits(const std::byte* element, DType dtype) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, element, element_bytes(dtype));
  return dtype == DType::I48 ? sign_extended(bits, element_bytes(dtype)) : bits;
}

Literal literal_of_elements(const TosaTensor& tensor, std::span<const std::byte> bytes) {
  Literal literal{.dtype = tensor.dtype, .shape = tensor.shape, .bits = {}};
  const std::size_t step = element_bytes(tensor.dtype);
  for (std::size_t at = 0; at + step <= bytes.size(); at += step)
    literal.bits.push_back(element_bits(&bytes[at], tensor.dtype));
  return literal;
}

// Sizes are integers; no sizes are a tensor with one.
Literal literal_of_sizes(const TosaTensor& tensor) {
  std::vector<std::int32_t> numbers(tensor.numbers.begin(), tensor.numbers.end());
  if (numbers.empty()) numbers.push_back(1);
  return literal_of(numbers);
}

UsedConstant read(TensorId id, const TosaTensor& tensor) {
  if (tensor.dtype == DType::Shape) return {.tensor = id, .literal = literal_of_sizes(tensor)};
  Bytes bytes(tensor.constant->storage());
  if (tosa::element_count(tensor.shape) <= max_literal)
    return {.tensor = id, .literal = literal_of_elements(tensor, bytes.view())};
  return {.tensor = id, .bytes = std::move(bytes)};
}

// Finds constants of equal values. Sizes of operators are kept apart from tensors.
class EqualConstants {
 public:
  // Returns the first constant with this value, and keeps a new one.
  TensorId find(UsedConstant constant, const TosaTensor& tensor) {
    auto& others = by_type_[{tensor.dtype, tensor.shape}];
    for (const std::size_t i : others) {
      if (has_same_value(kept_[i], constant)) return kept_[i].tensor;
    }
    others.push_back(kept_.size());
    kept_.push_back(std::move(constant));
    return kept_.back().tensor;
  }
  std::vector<UsedConstant> take() { return std::move(kept_); }

 private:
  static bool has_same_value(const UsedConstant& a, const UsedConstant& b) {
    return a.literal ? a.literal == b.literal : std::ranges::equal(a.bytes->view(), b.bytes->view());
  }

  std::map<std::pair<DType, tosa::Shape>, std::vector<std::size_t>> by_type_;
  std::vector<UsedConstant> kept_;
};

}  // namespace

UsedConstants find_constants(const TosaGraph& graph) {
  UsedConstants used;
  used.same_as.resize(graph.tensors.size());
  std::vector<bool> is_known(graph.tensors.size());
  EqualConstants values;
  std::size_t first_ones = 0;
  for (const tosa::TosaOp& op : graph.ops) {
    for (const TensorId id : op.inputs) {
      const TosaTensor& tensor = graph.tensors[id];
      if (!is_constant(tensor) || is_known[id]) continue;
      is_known[id] = true;
      used.same_as[id] = values.find(read(id, tensor), tensor);
      if (&op == &graph.ops.front() && used.same_as[id] == id) ++first_ones;
    }
  }
  used.constants = values.take();
  std::ranges::rotate(used.constants, used.constants.begin() + static_cast<std::ptrdiff_t>(first_ones));
  const auto later = static_cast<std::ptrdiff_t>(used.constants.size() - first_ones);
  std::ranges::reverse(used.constants.begin(), used.constants.begin() + later);
  return used;
}

void append_elements(std::vector<std::byte>& file, std::span<const std::byte> bytes, DType dtype) {
  if (dtype != DType::I48 && dtype != DType::Bool) {
    file.insert(file.end(), bytes.begin(), bytes.end());
    return;
  }
  const std::size_t step = element_bytes(dtype);
  for (std::size_t at = 0; at + step <= bytes.size(); at += step) {
    const std::uint64_t bits =
        dtype == DType::Bool ? 0 - std::uint64_t{bytes[at] != std::byte{0}} : element_bits(&bytes[at], dtype);
    const std::size_t size = dtype == DType::Bool ? 1 : sizeof bits;
    const auto* begin = reinterpret_cast<const std::byte*>(&bits);
    file.insert(file.end(), begin, begin + size);
  }
}

std::size_t bytes_in_file(const TosaTensor& tensor) {
  const std::size_t step = tensor.dtype == DType::I48 ? sizeof(std::uint64_t) : element_bytes(tensor.dtype);
  return static_cast<std::size_t>(tosa::element_count(tensor.shape)) * step;
}

}  // namespace depute::vgf
