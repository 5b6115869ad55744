// Elements read from, or written to, positions that an index tensor selects along one dimension. Several
// writes to one position are reduced.
//
// The runtime has kernels for reading, writing and sums, with 64-bit indices. For extremes, the elements are
// written in sorted order, so that the last write is the extreme:
//
//   %y = aten.scatter_reduce.two(%x, 0, %i, %s: f32[8], "amax")
//     ->
//   %v, %o = aten.topk.default(%s, 8, 0, false)
//   %j = aten.gather.default(%i, 0, %o)
//   %w = aten.scatter.src(%x, 0, %j, %v)
//   %y = aten.maximum.default(%x, %w)
#include <fmt/format.h>

#include "ops/math/complex_forms.h"
#include "ops/tensors/order.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Views a 0-d tensor as a line of one element.
Term as_line(const Term& x) {
  return x.rank() == 0 ? x.call("aten.unsqueeze.default", {0}) : Formula(x);
}
bool is_index_empty(const OpCall& call) {
  return call.tensor("index").static_numel() == 0;
}
bool is_plain(const OpCall& call) {
  return call.tensor("index").dtype == ScalarType::I64 && call.tensor("self").rank() > 0 &&
         !is_index_empty(call) && call.tensor("index").rank() == call.tensor("self").rank();
}
Term index_of(Builder& b, const OpCall& call) {
  return as_line(tensor_operand(b, call, "index")).to(ScalarType::I64);
}
// Fails for an invalid index. An empty index may have any rank. A 0-d tensor counts as a line of one element.
Status check_index(const OpCall& call, std::string_view source = {}) {
  const TensorType &self = call.tensor("self"), &index = call.tensor("index");
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), self.rank()));
  if (index.dtype != ScalarType::I64 && index.dtype != ScalarType::I32)
    return argument_error(fmt::format("an index must be i64 or i32, got {}", name(index.dtype)));
  if (index.static_numel() == 0) return {};
  auto check = [&](const TensorType& other, std::string_view other_name, std::size_t free_dim) -> Status {
    if (std::max<std::size_t>(index.rank(), 1) != std::max<std::size_t>(other.rank(), 1)) {
      return argument_error(
          fmt::format("the index has rank {}, but '{}' has rank {}", index.rank(), other_name, other.rank()));
    }
    for (std::size_t i = 0; i < index.rank() && i < other.rank(); ++i) {
      const SymInt &size = index.sizes[i], &most = other.sizes[i];
      if (i == free_dim || !size.is_constant() || !most.is_constant() || size.value() <= most.value())
        continue;
      return argument_error(fmt::format("the index has size {} in dimension {}, but '{}' has {}", size.str(),
                                        i, other_name, most.str()));
    }
    return {};
  };
  TRY_STATUS(check(self, "self", dim));
  return source.empty() ? Status() : check(call.tensor(source), source, max_rank);
}

// Returns x in the sizes of the call's result, which can differ only by the line of one element.
Replacement reshaped(const OpCall& call, const Term& x) {
  TRY(std::vector<Type> types, call.def().infer(call));
  const Dims& sizes = types[0].tensor.sizes;
  Term y = x.rank() == sizes.size() ? Formula(x) : x.call("aten.squeeze.dims", {Ints{0}});
  return one(y.to(types[0].tensor.dtype).value());
}

Types infer_gather(const OpCall& call) {
  TRY_STATUS(check_index(call));
  return tensor_result(call.tensor("self").dtype, call.tensor("index").sizes);
}
Replacement gather(Builder& b, const OpCall& call) {
  if (is_plain(call)) return std::vector<Value*>{};
  if (is_index_empty(call)) {
    const TensorType &self = call.tensor("self"), &index = call.tensor("index");
    return one(b.call("aten.full.default", {index.sizes, 0, self.dtype}));
  }
  Term x = as_line(tensor_operand(b, call, "self"));
  return reshaped(call, x.call("aten.gather.default", {call["dim"], index_of(b, call).value()}));
}
Types infer_scatter(const OpCall& call) {
  TRY_STATUS(check_index(call, "src"));
  return infer_same_type(call);
}
Types infer_scatter_number(const OpCall& call) {
  TRY_STATUS(check_index(call));
  return infer_same_type(call);
}
// Calls the same op on tensors with dimensions and with 64-bit indices.
Replacement scatter_plainly(Builder& b, const OpCall& call, const BuilderArgument& source) {
  if (is_index_empty(call)) return one(b.own(call.value("self")));
  Term x = as_line(tensor_operand(b, call, "self"));
  return reshaped(call, x.call(call.def().name.str(), {call["dim"], index_of(b, call).value(), source}));
}
Replacement scatter(Builder& b, const OpCall& call) {
  if (is_plain(call)) return std::vector<Value*>{};
  return scatter_plainly(b, call, as_line(tensor_operand(b, call, "src")).value());
}
Replacement scatter_number(Builder& b, const OpCall& call) {
  const Argument& value = call["value"];
  const bool is_truth = call.tensor("self").dtype == ScalarType::Bool && value.is_number() &&
                        value.kind != Argument::Kind::Bool;
  if (is_plain(call) && !is_truth) return std::vector<Value*>{};
  return scatter_plainly(b, call, is_truth ? Argument::of(value.as_double() != 0) : value);
}

// --- reductions

struct Scattering {
  std::size_t dim = 0;
  Term self, index, source;
  bool includes_self = true;

  std::int64_t axis() const { return static_cast<std::int64_t>(dim); }
  // Returns `target` where nothing is written and `neutral` elsewhere; `target` everywhere if self is
  // included.
  Term base(const Term& target, const Argument& neutral) const {
    return includes_self ? Formula(target)
                         : target.call("aten.scatter.value", {axis(), index.value(), neutral});
  }
  Term sum(const Term& target, const Term& added) const {
    return target.call("aten.scatter_add.default", {axis(), index.value(), added.value()});
  }
};

Term filled_like(const Term& x, int value) {
  return x.call("aten.full_like.default", {value});
}

Term mean(const Scattering& s) {
  Term total = s.sum(s.base(s.self, Argument::of(0)), s.source);
  Term ones = filled_like(s.source, 1), start = filled_like(s.self, s.includes_self ? 1 : 0);
  Term counts = s.sum(start, ones);
  counts = counts.call("aten.clamp.default", {1});
  if (is_floating(s.self.dtype())) return total / counts;
  return total.call("aten.div.Tensor_mode", {counts.value(), "floor"});
}

// Multiplies over all elements for each position; elements written elsewhere count as 1. Uses n * m elements
// of memory.
Term scattered_product(const Scattering& s) {
  Builder& b = s.self.builder();
  Term places(b, b.call("aten.arange.start_step", {0, b.size(s.self.sizes()[s.dim])}));
  Dims column(s.index.rank() - s.dim + 1, SymInt(1));
  column[0] = s.self.sizes()[s.dim];
  Term place(b, b.view(places.value(), column));
  Term is_here = s.index.call("aten.unsqueeze.default", {s.axis()}) == place;
  Term factors = where(is_here, s.source.call("aten.unsqueeze.default", {s.axis()}), 1);
  Term products = factors.call("aten.prod.dim_int", {s.axis() + 1}).to(s.self.dtype());
  std::vector<SymInt> pad;
  for (std::size_t i = s.self.rank(); i-- > 0;) {
    pad.emplace_back(std::int64_t{0});
    pad.push_back(i == s.dim ? SymInt(std::int64_t{0}) : s.self.sizes()[i] - s.index.sizes()[i]);
  }
  bool is_whole = products.sizes() == s.self.sizes();
  if (!is_whole) products = products.call("aten.constant_pad_nd.default", {pad, 1});
  return s.base(s.self, Argument::of(1)) * products;
}

// NaN is sorted last in ascending order, so the minimum is computed as the maximum of negatives.
Term extreme(const Scattering& s, bool is_max) {
  bool is_negated = !is_max && is_floating(s.self.dtype());
  Term self = is_negated ? -s.self : Formula(s.self), source = is_negated ? -s.source : Formula(s.source);
  Sorted sorted = order_of(source, s.dim, !is_max && !is_negated);
  Term index = s.index.call("aten.gather.default", {s.axis(), sorted.indices.value()});
  Term written = self.call("aten.scatter.src", {s.axis(), index.value(), sorted.values.value()});
  if (s.includes_self) written = is_max || is_negated ? max(self, written) : min(self, written);
  return is_negated ? -written : written;
}

Result<Term> reduced(Scattering s, std::string_view kind) {
  Term source = s.source;
  for (std::size_t i = 0; i < s.index.rank() && i < source.rank(); ++i) {
    if (source.sizes()[i] == s.index.sizes()[i]) continue;
    Argument size = s.self.builder().size(s.index.sizes()[i]);
    source = source.call("aten.slice.Tensor", {static_cast<std::int64_t>(i), 0, size});
  }
  bool is_bool = s.self.dtype() == ScalarType::Bool;
  ScalarType dtype = is_bool ? ScalarType::U8 : s.self.dtype();
  if (is_floating(dtype)) dtype = computing_type(dtype);
  s.self = s.self.to(dtype);
  s.source = source.to(dtype);
  if (s.index.value() != nullptr && s.index.value()->tensor().static_numel() == 0) return s.self;
  if (kind == "sum" || kind == "add") return s.sum(s.base(s.self, Argument::of(0)), s.source);
  if (kind == "prod" || kind == "multiply") return scattered_product(s);
  if (kind == "mean") return mean(s);
  if (kind == "amax" || kind == "amin") return extreme(s, kind == "amax");
  return argument_error(fmt::format("the reduction '{}'", kind));
}

Replacement scatter_by(Builder& b, const OpCall& call, const Term& source, bool includes_self) {
  if (is_index_empty(call)) return one(b.own(call.value("self")));
  Term self = as_line(tensor_operand(b, call, "self"));
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), self.rank()));
  Scattering s{dim, self, index_of(b, call), as_line(source), includes_self};
  TRY(Term result, reduced(s, call.text("reduce")));
  return reshaped(call, result);
}
Replacement scatter_reduce(Builder& b, const OpCall& call) {
  return scatter_by(b, call, tensor_operand(b, call, "src"), call.boolean("include_self"));
}
Replacement scatter_reduce_source(Builder& b, const OpCall& call) {
  return scatter_by(b, call, tensor_operand(b, call, "src"), true);
}
Replacement scatter_reduce_number(Builder& b, const OpCall& call) {
  Value* source = b.call("aten.full_like.default", {call["index"], call["value"], call.tensor("self").dtype});
  return scatter_by(b, call, {b, source}, true);
}
// The index selects whole slices of the source.
Types infer_index_reduce(const OpCall& call) {
  const TensorType &self = call.tensor("self"), &index = call.tensor("index");
  TRY_STATUS(wrap_dim(call.integer("dim"), self.rank()));
  if (index.rank() > 1) return argument_error("the index must have rank 0 or 1");
  if (std::max<std::size_t>(call.tensor("source").rank(), 1) != std::max<std::size_t>(self.rank(), 1))
    return argument_error("the source must have the rank of 'self'");
  return infer_same_type(call);
}
Replacement index_reduce(Builder& b, const OpCall& call) {
  Term self = as_line(tensor_operand(b, call, "self")), source = as_line(tensor_operand(b, call, "source"));
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), self.rank()));
  Dims line(source.rank(), SymInt(1));
  line[dim] = source.sizes()[dim];
  Term index(b, b.view(index_of(b, call).value(), line));
  index = index.call("aten.expand.default", {source.sizes()});
  TRY(Term result, reduced({dim, self, index, source, call.boolean("include_self")}, call.text("reduce")));
  return reshaped(call, result);
}

constexpr OpRules scatter_kernel(const char* out, InferFunction infer, DecomposeFunction decompose) {
  return {.flags = Core | InPlaceVariant,
          .out = out,
          .infer = infer,
          .decompose = decompose,
          .on_complex = each_part};
}

}  // namespace

std::span<const OpLine> scatter_ops() {
  static constexpr OpLine lines[] = {
      {"aten.gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)",
       row_by_row(on_complex(
           each_part, {.flags = Core, .out = "gather.out", .infer = infer_gather, .decompose = gather}))},
      {"aten.scatter.src(Tensor self, int dim, Tensor index, Tensor src)",
       row_by_row(scatter_kernel("scatter.src_out", infer_scatter, scatter))},
      {"aten.scatter.value(Tensor self, int dim, Tensor index, Scalar value)",
       row_by_row(scatter_kernel("scatter.value_out", infer_scatter_number, scatter_number))},
      {"aten.scatter_add(Tensor self, int dim, Tensor index, Tensor src)",
       row_by_row(scatter_kernel("scatter_add.out", infer_scatter, scatter))},
      {"aten.scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce)",
       composite(infer_scatter, scatter_reduce_source, InPlaceVariant)},
      {"aten.scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce)",
       composite(infer_scatter_number, scatter_reduce_number, InPlaceVariant)},
      {"aten.scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
       "include_self=True)",
       composite(infer_scatter, scatter_reduce, InPlaceVariant)},
      {"aten.index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
       "include_self=True)",
       composite(infer_index_reduce, index_reduce, InPlaceVariant)},
  };
  return lines;
}

}  // namespace depute::internal
