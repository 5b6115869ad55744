// Parts of a tensor along a dimension: slice, select, split, unbind.
#include <algorithm>

#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

std::int64_t start_of(const OpCall& call) {
  return call["start"].is_none() ? 0 : call["start"].as_int();
}

// Returns a slice's start for a dimension of constant size, counted from the front and clamped.
std::int64_t wrapped_start(std::int64_t start, std::int64_t size) {
  return std::clamp<std::int64_t>(start < 0 ? start + size : start, 0, size);
}

Check check_slice(const NodeQuery& node) {
  const Dims& from = node.tensor("self").sizes;
  const std::size_t dim = dimension(node.call, "dim", from.size());
  const SymInt& to = node.result().sizes[dim];
  if (from[dim] == to) return {};
  if (to.is_constant() && (from[dim].is_constant() || start_of(node.call) >= 0)) return {};
  return Refusal{"dynamic-shape", sizes_text(node.result().sizes), "a result of constant size"};
}

void slice(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const std::size_t dim = dimension(call, "dim", emit.rank(x));
  const SymInt from = emit.sizes(x)[dim];
  const SymInt to = emit.result_sizes()[dim];
  if (from == to) return emit.result(x);
  std::int64_t start = start_of(call);
  if (from.is_constant()) start = wrapped_start(start, from.value());
  emit.result(emit.slice(x, dim, start, to.value()));
}

Check check_select(const NodeQuery& node) {
  const Dims& from = node.tensor("self").sizes;
  const std::size_t dim = dimension(node.call, "dim", from.size());
  if (!from[dim].is_constant() && node.call["index"].as_int() < 0)
    return refuse_argument(node, "index", "at least 0");
  return {};
}

void select(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const std::size_t dim = dimension(call, "dim", emit.rank(x));
  std::int64_t index = call["index"].as_int();
  if (index < 0) index += emit.sizes(x)[dim].value();
  emit.result(emit.reshape(emit.slice(x, dim, index, 1), emit.result_sizes()));
}

Check need_constant_dimension(const NodeQuery& node) {
  const Dims& from = node.tensor("self").sizes;
  const std::size_t dim = dimension(node.call, "dim", from.size());
  if (!from[dim].is_constant())
    return Refusal{"dynamic-shape", sizes_text(from), "constant size of the split dimension"};
  return {};
}

Check check_split(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(need_constant_dimension(node));
  const std::size_t dim = dimension(node.call, "dim", node.tensor("self").rank());
  for (const Value* part : node.call.node()->results()) {
    const Dims& sizes = part->tensor().sizes;
    if (!sizes[dim].is_constant())
      return Refusal{"dynamic-shape", sizes_text(sizes), "parts of constant sizes"};
  }
  return {};
}

// Results are adjacent; their sizes give the offsets.
void split(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const std::size_t dim = dimension(call, "dim", emit.rank(x));
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.node()->results().size(); ++i) {
    const std::int64_t size = emit.result_sizes(i)[dim].value();
    emit.result(emit.slice(x, dim, start, size), i);
    start += size;
  }
}

void unbind(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const std::size_t dim = dimension(call, "dim", emit.rank(x));
  for (std::size_t i = 0; i < call.node()->results().size(); ++i) {
    emit.result(emit.reshape(emit.slice(x, dim, static_cast<std::int64_t>(i), 1), emit.result_sizes(i)), i);
  }
}

}  // namespace

std::span<const OpRule> slice() {
  static constexpr double one[] = {1};
  static constexpr Limit selected[] = {limit::number("index"), limit::one_open_size("result")};
  static constexpr Limit sliced[] = {limit::number("start"), limit::number("end"),
                                     limit::one_of("step", one)};
  static constexpr Limit parts[] = {limit::one_open_size("result")};
  static constexpr OpRule rules[] = {
      {.op = "aten.select.int",
       .conditions = "index from the front where the size is known only at run time",
       .forms = {selected},
       .op_class = OpClass::Move,
       .check = check_select,
       .translate = select},
      {.op = "aten.slice.Tensor",
       .conditions = "a result of constant size, or the whole",
       .forms = {sliced},
       .op_class = OpClass::Move,
       .check = check_slice,
       .translate = slice},
      {.op = "aten.split.Tensor",
       .conditions = "constant size of the split dimension",
       .op_class = OpClass::Move,
       .check = check_split,
       .translate = split},
      {.op = "aten.split_with_sizes.default",
       .conditions = "constant sizes of the split dimension and its parts",
       .op_class = OpClass::Move,
       .check = check_split,
       .translate = split},
      {.op = "aten.unbind.int",
       .conditions = "constant size of the dimension",
       .forms = {parts},
       .op_class = OpClass::Move,
       .check = need_constant_dimension,
       .translate = unbind},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
