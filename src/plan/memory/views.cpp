#include "plan/memory/views.h"

#include <algorithm>
#include <span>

#include "depute/program/op.h"

namespace depute {
namespace {

// Returns the bytes between neighbors along `dim`. Nullopt unless `dim` is the outermost dimension
// (dimensions of size 1 aside) and all inner sizes are static.
std::optional<std::uint64_t> outermost_stride(const TensorType& type, std::int64_t dim) {
  auto rank = static_cast<std::int64_t>(type.rank());
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= rank) return std::nullopt;
  TensorType inner{type.dtype, {}, {}};
  for (std::int64_t i = 0; i < rank; ++i) {
    const SymInt& size = type.sizes[static_cast<std::size_t>(i)];
    if (i < dim && size != SymInt(1)) return std::nullopt;
    if (i > dim) inner.sizes.push_back(size);
  }
  return inner.static_bytes();
}

// Returns a position along a dimension, counted from its start.
std::optional<std::int64_t> from_front(const Argument& position, const SymInt& size) {
  if (position.is_none()) return 0;
  if (!position.is_int()) return std::nullopt;
  std::int64_t value = position.as_int();
  if (value < 0) {
    if (!size.is_constant()) return std::nullopt;
    value = std::max<std::int64_t>(value + size.value(), 0);
  }
  return size.is_constant() ? std::min(value, size.value()) : value;
}

// True if all dimensions but those of size 1 keep their order.
bool keeps_order(const TensorType& from, const TensorType& to) {
  auto next = [](const TensorType& type, std::size_t i) {
    while (i < type.rank() && type.sizes[i] == SymInt(1)) ++i;
    return i;
  };
  std::size_t i = next(from, 0);
  std::size_t j = next(to, 0);
  std::size_t moved = 0;
  while (i < from.rank() && j < to.rank()) {
    if (from.sizes[i] != to.sizes[j]) return false;
    ++moved;
    i = next(from, i + 1);
    j = next(to, j + 1);
  }
  return moved <= 1;  // with two or more, equal sizes do not tell which dimension is which
}

// True if a permute keeps the order of all dimensions but those of size 1.
bool is_order_kept(const Node& node) {
  const TensorType& type = node.result()->tensor();
  const TensorType& from = node.operand(0)->tensor();
  if (keeps_order(from, type)) return true;
  const OpCall call(node);
  if (call.def().arg_index(Name("dims")) < 0 || !call["dims"].is_list()) return false;
  std::int64_t last = -1;
  for (const Argument& dim : call["dims"].as_list()) {
    if (!dim.is_int()) return false;
    std::int64_t index =
        dim.as_int() < 0 ? dim.as_int() + static_cast<std::int64_t>(from.rank()) : dim.as_int();
    if (index < 0 || index >= static_cast<std::int64_t>(from.rank())) return false;
    if (from.sizes[static_cast<std::size_t>(index)] == SymInt(1)) continue;
    if (index < last) return false;
    last = index;
  }
  return true;
}

bool all_contiguous_tensors(const Node& node) {
  return std::ranges::all_of(node.results(), [&](const Value* result) {
    return result->type().is_tensor() && result->tensor().is_contiguous() &&
           result->tensor().dtype == node.operand(0)->tensor().dtype;
  });
}

bool all_static(const Node& node) {
  return std::ranges::all_of(node.results(),
                             [](const Value* result) { return result->tensor().is_static(); });
}

std::optional<View> select_view(const OpCall& call, const Value& base) {
  if (!call["dim"].is_int()) return std::nullopt;
  std::int64_t dim = call["dim"].as_int();
  auto stride = outermost_stride(base.tensor(), dim);
  if (!stride) return std::nullopt;
  if (dim < 0) dim += static_cast<std::int64_t>(base.tensor().rank());
  auto index = from_front(call["index"], base.tensor().sizes[static_cast<std::size_t>(dim)]);
  if (!index) return std::nullopt;
  return View{nullptr, false, {static_cast<std::uint64_t>(*index) * *stride}};
}

std::optional<View> slice_view(const OpCall& call, const Value& base) {
  if (!call["dim"].is_int() || !call["step"].is_int() || call["step"].as_int() != 1) return std::nullopt;
  std::int64_t dim = call["dim"].as_int();
  auto stride = outermost_stride(base.tensor(), dim);
  if (!stride) return std::nullopt;
  if (dim < 0) dim += static_cast<std::int64_t>(base.tensor().rank());
  auto start = from_front(call["start"], base.tensor().sizes[static_cast<std::size_t>(dim)]);
  std::uint64_t offset = 0;
  if (!start || __builtin_mul_overflow(static_cast<std::uint64_t>(*start), *stride, &offset)) {
    return std::nullopt;
  }
  return View{nullptr, false, {offset}};
}

std::optional<View> split_view(const OpCall& call, const Value& base) {
  if (!call["dim"].is_int() || !outermost_stride(base.tensor(), call["dim"].as_int())) return std::nullopt;
  View view;
  view.is_whole = false;
  std::uint64_t offset = 0;
  for (const Value* result : call.node()->results()) {
    auto bytes = result->tensor().static_bytes();
    if (!bytes) return std::nullopt;
    view.offsets.push_back(offset);
    offset += *bytes;
  }
  return view;
}

std::optional<View> run_view(const Node& node, ViewKind kind) {
  if (!all_static(node)) return std::nullopt;
  OpCall call(node);
  const Value& base = *node.operand(0);
  if (kind == ViewKind::Select) return select_view(call, base);
  if (kind == ViewKind::Slice) return slice_view(call, base);
  return split_view(call, base);
}

bool is_whole_view(const Node& node, ViewKind kind) {
  const TensorType& from = node.operand(0)->tensor();
  const TensorType& to = node.result()->tensor();
  switch (kind) {
    case ViewKind::None:
      return false;
    case ViewKind::Reshape:
      return true;
    case ViewKind::Copy:
      return from.sizes == to.sizes;
    case ViewKind::Expand:  // of no elements, the number tells nothing of the sizes
      return from.sizes == to.sizes || (from.numel() == to.numel() && (to.is_static() || from.numel() != 0));
    case ViewKind::Permute:
      return is_order_kept(node);
    case ViewKind::Select:
    case ViewKind::Slice:
    case ViewKind::Split:
      return from.sizes == to.sizes;  // a cut that cuts nothing off
  }
  return false;
}

}  // namespace

std::optional<View> find_view(const Node& node) {
  const OpDef* def = node.def();
  ViewKind kind = def == nullptr ? ViewKind::None : def->view_kind;
  if (kind == ViewKind::None || node.operand_count() == 0 || node.results().empty()) return std::nullopt;
  const Value* base = node.operand(0);
  if (!base->type().is_tensor() || !base->tensor().is_contiguous() || !all_contiguous_tensors(node)) {
    return std::nullopt;
  }
  std::optional<View> view;
  if (node.results().size() == 1 && is_whole_view(node, kind)) {
    view = View{nullptr, true, {0}};
  } else if (kind >= ViewKind::Select) {
    view = run_view(node, kind);
  }
  if (view) view->base = base;
  return view;
}

const Value* shared_operand(const Node& node) {
  if (auto view = find_view(node)) return view->base;
  // Numbers are not copied either (symbolic_call.cpp).
  bool may_be_same = node.op() == "_operator.pos" || node.op() == "_operator.pow";
  return may_be_same && node.operand_count() == 1 ? node.operand(0) : nullptr;
}

const Value& root_of(const Value& value) {
  const Value* root = &value;
  while (root->producer() != nullptr) {
    const Value* shared = shared_operand(*root->producer());
    if (shared == nullptr) break;
    root = shared;
  }
  return *root;
}

}  // namespace depute
