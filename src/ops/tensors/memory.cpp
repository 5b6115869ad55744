// Copies and conversions. In a normalized program a copy only converts the element type, by
// dim_order_ops._to_dim_order_copy.default; the planner handles memory formats.
#include <algorithm>

#include "depute/program/builder.h"
#include "ops/math/complex_forms.h"
#include "ops/op_table.h"
#include "ops/tensors/view_rules.h"

namespace depute::internal {
namespace {

Types infer_converted(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  const bool is_ordered = call.def().arg_index(Name("dim_order")) >= 0 && call["dim_order"].is_list();
  if (is_ordered && call["dim_order"].as_list().size() != self.rank())
    return argument_error("dim_order must have one entry per dimension");
  return tensor_result(dtype_or(call, self.dtype), self.sizes);
}

Types infer_like_other(const OpCall& call) {
  return tensor_result(call.tensor("other").dtype, call.tensor("self").sizes);
}

Replacement converted_to(Builder& b, const OpCall& call, ScalarType dtype) {
  if (dtype == call.tensor("self").dtype) return one(b.call("aten.alias.default", {call["self"]}));
  return one(b.call("aten._to_copy.default", {call["self"], dtype}));
}
Replacement convert(Builder& b, const OpCall& call) {
  return converted_to(b, call, dtype_or(call, call.tensor("self").dtype));
}
Replacement type_as(Builder& b, const OpCall& call) {
  return converted_to(b, call, call.tensor("other").dtype);
}

// Returns src in the type and sizes of self.
Replacement copy(Builder& b, const OpCall& call) {
  Value* src = b.own(call.value("src"));
  const TensorType& self = call.tensor("self");
  if (src->tensor().dtype != self.dtype) src = b.call("aten._to_copy.default", {src, self.dtype});
  return one(b.call("aten.expand.default", {src, self.sizes}));
}

// Replaces other dimension orders: tensors of a normalized program are contiguous.
Replacement keep_order(Builder& b, const OpCall& call) {
  std::vector<std::int64_t> order = call.ints("dim_order");
  if (std::ranges::is_sorted(order) && !call.boolean("non_blocking")) return std::vector<Value*>{};
  std::vector<Argument> args(call.args().begin(), call.args().end());
  args.back() = Argument::none();
  args[args.size() - 2] = Argument::of(false);  // all copies block
  return one(b.call(call.def().name.str(), std::span<const Argument>(args)));
}

constexpr OpRules copying(const char* out, InferFunction infer) {
  return {.flags = Core,
          .view_kind = ViewKind::Copy,
          .out = out,
          .infer = infer,
          .decompose = keep_order,
          .identity = always};
}
constexpr OpRules converting(OpFlag flags = MayView) {
  return {.flags = flags, .infer = infer_converted, .decompose = convert, .write_back = write_whole};
}

}  // namespace

std::span<const OpLine> memory_ops() {
  static constexpr OpLine lines[] = {
      {"aten.clone(Tensor self, *, MemoryFormat? memory_format=None)",
       on_complex(each_part, {.flags = Core,
                              .view_kind = ViewKind::Copy,
                              .out = "clone.out",
                              .infer = infer_same_type,
                              .identity = always})},
      {"aten._to_copy(Tensor self, *, ScalarType? dtype=None, ..., bool non_blocking=False, MemoryFormat? "
       "memory_format=None)",
       on_complex(complex_conversion, {.flags = Core,
                                       .view_kind = ViewKind::Copy,
                                       .out = "_to_copy.out",
                                       .infer = infer_converted,
                                       .identity = always})},
      {"aten.contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
       {.flags = MayView,
        .infer = infer_same_type,
        .decompose = text<"alias(self)">,
        .write_back = write_whole}},
      {"aten.to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
       "MemoryFormat? memory_format=None) -> Tensor(a)",
       converting()},
      {"aten.to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool "
       "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
       converting()},
      {"aten.to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, ..., bool non_blocking=False, bool "
       "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
       converting()},
      {"aten.to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? "
       "memory_format=None) -> Tensor(a)",
       {.flags = MayView, .infer = infer_like_other, .decompose = type_as, .write_back = write_whole}},
      {"aten.type_as(Tensor self, Tensor other)", composite(infer_like_other, type_as, MayView)},
      {"aten.copy(Tensor self, Tensor src, bool non_blocking=False)",
       composite(infer_same_type, copy, InPlaceVariant)},
      {"dim_order_ops._to_dim_order_copy.default(Tensor self, *, ScalarType? dtype=None, ..., bool "
       "non_blocking=False, int[]? dim_order=None)",
       copying("dim_order_ops::_to_dim_order_copy.out", infer_converted)},
      {"dim_order_ops._clone_dim_order.default(Tensor self, *, bool non_blocking=False, int[]? "
       "dim_order=None)",
       copying("dim_order_ops::_clone_dim_order.out", infer_same_type)},
  };
  return lines;
}

}  // namespace depute::internal
