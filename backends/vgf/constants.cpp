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

// Types whose elements lie otherwise in the file than in the graph.
bool is_widened(DType dtype) {
  return dtype == DType::Bool || dtype == DType::I4 || dtype == DType::I48;
}

std::size_t bytes_of_stored(DType dtype) {
  return stored_bits(dtype) / 8;
}

std::int64_t sign_extended(std::uint64_t bits, int width) {
  const int unused = 64 - width;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

// An element of a widened type. Of two integers of 4 bits the first has the low bits of their byte.
std::int64_t element(std::span<const std::byte> bytes, DType dtype, std::size_t i) {
  std::uint64_t bits = 0;
  if (dtype == DType::Bool) return bytes[i] == std::byte{0} ? 0 : -1;
  if (dtype == DType::I4) return sign_extended(static_cast<std::uint64_t>(bytes[i / 2]) >> (i % 2 * 4), 4);
  constexpr std::size_t size = 6;
  std::memcpy(&bits, &bytes[i * size], size);
  return sign_extended(bits, 48);
}

Literal literal_of_elements(const TosaTensor& tensor, std::span<const std::byte> bytes) {
  std::vector<std::byte> stored;
  append_elements(stored, bytes, tensor);
  Literal literal{.dtype = stored_type(tensor.dtype), .shape = tensor.shape, .bits = {}};
  const std::size_t step = bytes_of_stored(tensor.dtype);
  for (std::size_t at = 0; at < stored.size(); at += step) {
    std::uint64_t& bits = literal.bits.emplace_back();
    std::memcpy(&bits, &stored[at], step);
    if (literal.dtype == DType::Bool) bits &= 1;
  }
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
    if (constant.literal) {
      const auto [known, is_new] =
          literals_.try_emplace({{tensor.dtype, tensor.shape}, *constant.literal}, constant.tensor);
      if (!is_new) return known->second;
    } else {
      auto& others = by_type_[{tensor.dtype, tensor.shape}];
      for (const std::size_t i : others) {
        if (std::ranges::equal(kept_[i].bytes->view(), constant.bytes->view())) return kept_[i].tensor;
      }
      others.push_back(kept_.size());
    }
    kept_.push_back(std::move(constant));
    return kept_.back().tensor;
  }
  std::vector<UsedConstant> take() { return std::move(kept_); }

 private:
  using TensorType = std::pair<DType, tosa::Shape>;

  std::map<std::pair<TensorType, Literal>, TensorId> literals_;
  std::map<TensorType, std::vector<std::size_t>> by_type_;  // of those with many elements
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

void append_elements(std::vector<std::byte>& file, std::span<const std::byte> bytes,
                     const TosaTensor& tensor) {
  if (!is_widened(tensor.dtype)) {
    file.insert(file.end(), bytes.begin(), bytes.end());
    return;
  }
  const auto count = static_cast<std::size_t>(tosa::element_count(tensor.shape));
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t number = element(bytes, tensor.dtype, i);
    const auto* begin = reinterpret_cast<const std::byte*>(&number);
    file.insert(file.end(), begin, begin + bytes_of_stored(tensor.dtype));
  }
}

std::size_t bytes_in_file(const TosaTensor& tensor) {
  return static_cast<std::size_t>(tosa::element_count(tensor.shape)) * bytes_of_stored(tensor.dtype);
}

}  // namespace depute::vgf
