// Maximum over one dimension or two adjacent ones: a pooling window as large as the tensor.
#include "emitter.h"
#include "node_query.h"
#include "reductions.h"

namespace depute::xnnpack::ops {
namespace {

// Returns the dimensions to reduce, in ascending order.
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

// Rejects windows along the last dimension: XNNPACK computes a single channel element by element.
Check check_amax(const NodeQuery& node) {
  const TensorType& self = node.tensor("self");
  const std::vector<std::size_t> dims = reduced_dims(node.call, self.rank());
  const bool is_run = dims.size() == 1 || (dims.size() == 2 && dims[1] == dims[0] + 1);
  const bool is_image = self.rank() == 4 && dims.size() == 2 && dims[0] == 2 && dims[1] == 3;
  if (!is_run || (dims.back() + 1 == self.rank() && !is_image)) {
    return refuse_argument(node, "dim",
                           "one dimension or two adjacent ones, not the last; or height and width");
  }
  if (self.sizes[dims[0]] == 1 && self.sizes[dims.back()] == 1)
    return refuse_argument(node, "dim", "more than one element");
  return {};
}

void amax(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const std::vector<std::size_t> dims = reduced_dims(call, emit.rank(x));
  const ValueId greatest =
      reduce_max(emit, x, static_cast<std::uint32_t>(dims.front()), static_cast<std::uint32_t>(dims.back()));
  emit.result(emit.reshape(greatest, emit.result_sizes()));
}

}  // namespace

std::span<const OpRule> amax() {
  static constexpr Limit limits[] = {limit::ranks("self", 2, 6), limit::ints("dim"),
                                     limit::known_sizes("self")};
  static constexpr OpRule rules[] = {
      {.op = "aten.amax.default",
       .conditions = "one dimension or two adjacent ones, not the last; or height and width",
       .forms = {limits},
       .check = check_amax,
       .translate = amax},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
