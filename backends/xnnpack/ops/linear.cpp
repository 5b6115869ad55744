// Products of matrices: linear, addmm and mm, whose constant weights are packed when the program is loaded
// (linear's may also be computed when it runs), and bmm and matmul of batches. matmul is kept whole: as an mm
// or a bmm it would be flattened by views, which XNNPACK cannot express where two sizes are known only at run
// time.
//
//   matmul(f32[1, 12, s, 64], f32[1, 12, 64, s])  ->  BatchMatrixMultiply, without views to [12, s, s]
//   matmul(f32[b, s, 64], constant f32[64, 8])    ->  FullyConnected
#include "emitter.h"
#include "node_query.h"
#include "ops/idioms.h"

namespace depute::xnnpack::ops {
namespace {

void linear(Emitter& emit, const OpCall& call) {
  ValueId x = emit.input(call, "input");
  const ValueId weight = emit.input(call, "weight");
  ValueId bias = emit.optional_input(call, "bias");
  const bool is_in_rows = emit.is_in_rows(*call.value("input"));
  // With dynamically quantized input the bias must be f32, whatever the result's type.
  if (is_in_rows && bias != no_value && emit.constant_of(bias) != nullptr)
    bias = emit.constant(to_f32(*emit.constant_of(bias)));
  Dims sizes = emit.sizes(x);
  if (sizes.size() == 1) x = emit.reshape(x, {1, sizes[0]});
  Dims result = emit.sizes(x);
  result.back() = emit.sizes(weight)[0];
  const bool is_fused =
      emit.constant_of(weight) != nullptr && (bias == no_value || emit.constant_of(bias) != nullptr);
  ValueId y = emit.add_sized(NodeKind::FullyConnected, {x, weight, is_fused ? bias : no_value}, result);
  if (is_in_rows) emit.quantize_rows();
  if (bias != no_value && !is_fused) y = emit.add(NodeKind::Add, {y, bias});
  emit.result(emit.reshape(y, emit.result_sizes()));
}

// [m, k] x [k, n]
ValueId multiply(Emitter& emit, ValueId left, ValueId right, ValueId bias) {
  const Dims result = {emit.sizes(left)[0], emit.sizes(right)[1]};
  if (emit.constant_of(right) == nullptr) {
    return emit.add_sized(NodeKind::BatchMatrixMultiply, {left, right}, result);
  }
  return emit.add_sized(NodeKind::FullyConnected, {left, right, bias}, result, {}, transpose_weights);
}

void addmm(Emitter& emit, const OpCall& call) {
  const ValueId left = emit.input(call, "mat1");
  const ValueId right = emit.input(call, "mat2");
  ValueId bias = emit.input(call, "self");
  const SymInt columns = emit.sizes(right)[1];
  const Constant* constant = emit.constant_of(bias);
  const bool is_fused = constant != nullptr && emit.constant_of(right) != nullptr &&
                        SymInt(numel(*constant)) == columns && emit.sizes(bias).back() == columns;
  if (!is_fused) return emit.result(emit.add(NodeKind::Add, {multiply(emit, left, right, no_value), bias}));
  emit.result(multiply(emit, left, right, emit.reshape(bias, {columns})));
}

void mm(Emitter& emit, const OpCall& call) {
  const ValueId right = emit.input(call, "mat2"), left = emit.input(call, "self");
  emit.result(multiply(emit, left, right, no_value));
}

void bmm(Emitter& emit, const OpCall& call) {
  emit.result(emit.add_sized(NodeKind::BatchMatrixMultiply,
                             {emit.input(call, "self"), emit.input(call, "mat2")}, emit.result_sizes()));
}

// Batch dimensions are broadcast, and missing ones are added in front.
Check check_matmul(const NodeQuery& node) {
  const TensorType& left = node.tensor("self");
  const TensorType& right = node.tensor("other");
  if (left.rank() == right.rank()) return {};
  return need_reshapable(left.rank() < right.rank() ? left : right);
}

void matmul(Emitter& emit, const OpCall& call) {
  if (call.tensor("other").rank() == 2) {
    const ValueId left = emit.input(call, "self");
    const ValueId right = emit.input(call, "other");
    return emit.result(emit.add_sized(NodeKind::FullyConnected, {left, right, no_value}, emit.result_sizes(),
                                      {}, transpose_weights));
  }
  const std::size_t rank = emit.result_sizes().size();
  auto widened = [&](std::string_view name) {
    const ValueId x = emit.input(call, name);
    return emit.reshape(x, internal::with_rank(emit.sizes(x), rank));
  };
  emit.result(emit.add_sized(NodeKind::BatchMatrixMultiply, {widened("self"), widened("other")},
                             emit.result_sizes()));
}

}  // namespace

std::span<const OpRule> linear() {
  using namespace limit;
  static constexpr double one[] = {1};
  // Computed weights need f32: the runtime multiplies them with another kernel, which lacks f16.
  static constexpr Limit addmm_constant[] = {one_of("alpha", one), one_of("beta", one), constant("mat2")};
  static constexpr Limit addmm_f32[] = {one_of("alpha", one), one_of("beta", one),
                                        dtype("mat2", ScalarType::F32), matrix("mat1"), matrix("mat2")};
  static constexpr Limit linear_constant[] = {weight("weight"), ranks("weight", 2, 2), ranks("bias", 1, 1),
                                              ranks("input", 1, 6)};
  static constexpr Limit linear_f32[] = {dtype("weight", ScalarType::F32),
                                         ranks("weight", 2, 2),
                                         ranks("bias", 1, 1),
                                         ranks("input", 1, 6),
                                         matrix("input"),
                                         matrix("weight")};
  static constexpr Limit bmm_of_matrices[] = {matrix("self"), matrix("mat2")};
  static constexpr Limit mm_constant[] = {constant("mat2")};
  static constexpr Limit mm_f32[] = {dtype("mat2", ScalarType::F32), matrix("self"), matrix("mat2")};
  static constexpr Limit batches[] = {ranks("self", 3, 6), ranks("other", 3, 6), matrix("self"),
                                      matrix("other")};
  static constexpr Limit rows[] = {ranks("self", 3, 6), ranks("other", 2, 2), constant("other")};
  static constexpr OpRule rules[] = {
      {.op = "aten.addmm.default", .forms = {addmm_constant, addmm_f32}, .packs = "mat2", .translate = addmm},
      {.op = "aten.bmm.default", .forms = {bmm_of_matrices}, .translate = bmm},
      {.op = "aten.linear.default",
       .forms = {linear_constant, linear_f32},
       .keep_whole = true,
       .packs = "weight",
       .translate = linear},
      {.op = "aten.matmul.default",
       .conditions = "if the ranks of the batches differ, at most one dynamic size in the lower one",
       .forms = {batches, rows},
       .keep_whole = true,
       .packs = "other",
       .check = check_matmul,
       .translate = matmul},
      {.op = "aten.mm.default", .forms = {mm_constant, mm_f32}, .packs = "mat2", .translate = mm},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
