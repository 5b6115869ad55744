// The greatest element over one or two neighbouring dimensions: a pooling window as large as the tensor.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

// The dimensions to reduce, ascending.
std::vector<std::size_t> reduced_dims(const OpCall& call, std::size_t rank) {
  std::vector<bool> is_reduced(rank, call.ints("dim").empty());
  for (std::int64_t dim : call.ints("dim")) {
    is_reduced[static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim)] = true;
  }
  std::vector<std::size_t> dims;
  for (std::size_t i = 0; i < rank; ++i) {
    if (is_reduced[i]) dims.push_back(i);
  }
  return dims;
}

// Windows along the last dimension would leave one channel, which XNNPACK computes one element at a time.
Check check_amax(const NodeQuery& node) {
  const TensorType& self = node.tensor("self");
  DEPUTE_REFUSE_IF(need_rank(self, 2, 6));
  DEPUTE_REFUSE_IF(need_ints(node, "dim"));
  const std::vector<std::size_t> dims = reduced_dims(node.call, self.rank());
  const bool is_run = dims.size() == 1 || (dims.size() == 2 && dims[1] == dims[0] + 1);
  const bool is_image = self.rank() == 4 && dims.size() == 2 && dims[0] == 2 && dims[1] == 3;
  if (!is_run || (dims.back() + 1 == self.rank() && !is_image)) {
    return refuse_argument(node, "dim",
                           "one dimension, or two neighbours, before the last; height and width");
  }
  if (symbolic_count(self.sizes) != 0)
    return Refusal{"dynamic-shape", sizes_text(self.sizes), "constant sizes"};
  if (self.sizes[dims[0]] == 1 && self.sizes[dims.back()] == 1)
    return refuse_argument(node, "dim", "more than one element");
  return {};
}

// [n, c, h, w], pooled over h and w.
ValueId pool(Emitter& emit, ValueId x) {
  Dims sizes = emit.sizes(x);
  Window window;
  window.kernel = {static_cast<std::uint32_t>(sizes[2].value()),
                   static_cast<std::uint32_t>(sizes[3].value())};
  window.stride = window.kernel;
  sizes[2] = 1;
  sizes[3] = 1;
  return emit.add_sized(NodeKind::MaxPooling2d, {x}, sizes, window);
}

void amax(Emitter& emit, const OpCall& call) {
  ValueId x = emit.input(call, "self");
  const Dims sizes = emit.sizes(x);
  const std::vector<std::size_t> dims = reduced_dims(call, sizes.size());
  const auto first = sizes.begin() + static_cast<std::ptrdiff_t>(dims.front());
  const auto behind = sizes.begin() + static_cast<std::ptrdiff_t>(dims.back()) + 1;
  if (behind == sizes.end()) return emit.result(emit.reshape(pool(emit, x), emit.result_sizes()));
  const SymInt outer = product(std::vector<SymInt>(sizes.begin(), first));
  const SymInt inner = product(std::vector<SymInt>(behind, sizes.end()));
  const SymInt width = dims.size() == 2 ? *(behind - 1) : SymInt(1);
  // [outer, height, width, inner] lies as an image whose channels are `inner`.
  const ValueId image = emit.permute(emit.reshape(x, {outer, *first, width, inner}), {0, 3, 1, 2});
  emit.result(emit.reshape(pool(emit, image), emit.result_sizes()));
}

constexpr OpRule rules[] = {
    {.op = "aten.amax.default",
     .conditions = "one dimension or two neighbours, not the last; or height and width; constant sizes",
     .check = check_amax,
     .translate = amax},
};

}  // namespace

std::span<const OpRule> amax() {
  return rules;
}

}  // namespace depute::xnnpack::ops
