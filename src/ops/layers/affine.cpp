// Quantization ops of torchao: each block of a tensor has a scale and a zero point. Backends match these ops.
// Undelegated ones are computed by kernels of the runtime, which support rows instead of blocks.
//
//   %w: f32[8, 64] = torchao.dequantize_affine.default(%q, [1, 32], %scale, %zero, .i8, -8, 7)
//     ->
//   %v = aten.view.default(%q, [16, 32])
//   %s = aten.view.default(%scale, [16])
//   %z = aten.view.default(%zero, [16])
//   %d = quantized_decomposed.dequantize_per_channel.default(%v, %s, %z, 0, -8, 7, .i8)
//   %w = aten.view.default(%d, [8, 64])
//
// A table that only an embedding reads stays quantized, since a kernel looks up quantized rows.
#include <fmt/format.h>

#include "ops/idioms.h"
#include "ops/math/formula.h"
#include "ops/op_table.h"
#include "ops/shared_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

struct Blocks {
  Dims split;     // the tensor's sizes; several blocks split a dimension into blocks and places
  Dims counts;    // like split, with one place per block
  Dims per_dim;   // blocks along each dimension of the tensor
  Ints inside;    // the dimensions of `split` that lie in a block
  bool has_rows;  // each block consists of consecutive elements
};

Result<Blocks> blocks_of(const OpCall& call) {
  const Dims& sizes = call.tensor("input").sizes;
  const Dims block = as_dims(call["block_size"]);
  if (block.size() != sizes.size())
    return argument_error(
        fmt::format("block_size has {} dimensions, but the input has rank {}", block.size(), sizes.size()));
  Blocks blocks{.has_rows = true};
  bool is_in_row = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool is_whole = block[i] == sizes[i], is_one = block[i] == SymInt(1);
    if (!is_whole && !is_one && !(block[i].is_constant() && sizes[i].is_constant()))
      return type_error("block sizes must be constant, 1, or the size of their dimension");
    const bool is_cut = !is_whole && !is_one;
    if (is_cut && (block[i].value() < 1 || sizes[i].value() % block[i].value() != 0))
      return argument_error(
          fmt::format("block size {} does not divide dimension size {}", block[i].value(), sizes[i].value()));
    const SymInt count = is_cut ? SymInt(sizes[i].value() / block[i].value()) : is_one ? sizes[i] : SymInt(1);
    blocks.has_rows &= !is_in_row || is_whole;
    is_in_row |= !is_one;
    blocks.per_dim.push_back(count);
    if (is_cut || is_one) {
      blocks.split.push_back(count);
      blocks.counts.push_back(count);
    }
    if (is_one) continue;
    blocks.inside.push_back(static_cast<std::int64_t>(blocks.split.size()));
    blocks.split.push_back(block[i]);
    blocks.counts.push_back(1);
  }
  return blocks;
}

bool is_empty(const Argument& tensor) {
  return tensor.is_none() || tensor.as_value()->tensor().numel() == 0;
}

struct Limits {
  std::int64_t least = 0, most = 0;
};
Result<Limits> limits_of(const OpCall& call, std::string_view type_name) {
  const ScalarType type = call[type_name].as_scalar_type();
  const auto bound = [&](std::string_view name, std::int64_t otherwise) -> Result<std::int64_t> {
    if (call[name].is_none()) return otherwise;
    TRY(const double given, constant_number(call, name));
    return static_cast<std::int64_t>(given);
  };
  if (type != ScalarType::I8 && type != ScalarType::U8 && type != ScalarType::I16 && type != ScalarType::I32)
    return type_error(fmt::format("quantization to {}", name(type)));
  const int bits = static_cast<int>(8 * item_size(type)) - (type == ScalarType::U8 ? 0 : 1);
  Limits limits;
  TRY(limits.least, bound("quant_min", type == ScalarType::U8 ? 0 : -(std::int64_t{1} << bits)));
  TRY(limits.most, bound("quant_max", (std::int64_t{1} << bits) - 1));
  return limits;
}

// --- dynamic scales and zero points

Types infer_choice(const OpCall& call) {
  TRY(const Blocks blocks, blocks_of(call));
  Dims sizes = blocks.per_dim;
  if (!call.boolean("keepdim")) {
    sizes.clear();
    for (std::size_t i = 0; i < blocks.split.size(); ++i) {
      const bool is_inside = std::ranges::count(blocks.inside, static_cast<std::int64_t>(i)) > 0;
      if (!is_inside) sizes.push_back(blocks.split[i]);
    }
  }
  const auto type = [&](std::string_view name, ScalarType otherwise) {
    return call[name].is_none() ? otherwise : call[name].as_scalar_type();
  };
  const ScalarType own = call.tensor("input").dtype;
  const ScalarType zero_type = call.text("mapping_type") == "ASYMMETRIC"
                                   ? type("zero_point_dtype", ScalarType::I32)
                                   : type("zero_point_dtype", own);
  return std::vector<Type>{tensor_type(make_tensor(type("scale_dtype", own), sizes)),
                           tensor_type(make_tensor(zero_type, sizes))};
}

Replacement choose(Builder& b, const OpCall& call) {
  TRY(const Blocks blocks, blocks_of(call));
  TRY(const Limits limits, limits_of(call, "target_dtype"));
  TRY(const std::vector<Type> types, infer_choice(call));
  const ScalarType own = call.tensor("input").dtype;
  if (!is_floating(own)) return type_error("quantization of integers");
  const double least = static_cast<double>(limits.least), most = static_cast<double>(limits.most);
  const double smallest = own == ScalarType::F16 ? 0x1p-14 : own == ScalarType::F64 ? 0x1p-1022 : 0x1p-126;
  const double eps = call["eps"].is_none() ? smallest : call.number("eps");

  const Term x(b, reshape(b, b.own(call.value("input")), blocks.split));
  const auto extreme = [&](std::string_view op) {
    return blocks.inside.empty() ? Formula(x) : x.call(op, {blocks.inside, false});
  };
  const Term low = extreme("aten.amin.default").call("aten.clamp.default", {Argument::none(), 0});
  const Term high = extreme("aten.amax.default").call("aten.clamp.default", {0});
  const std::string_view mapping = call.text("mapping_type");
  const auto clamped = [&](const Term& scale) { return scale.call("aten.clamp.default", {eps}); };
  const auto results = [&](const Term& scale, const Term& zero) -> Replacement {
    const auto as_result = [&](const Term& t, const Type& type) {
      return reshape(b, t.to(type.tensor.dtype).value(), type.tensor.sizes);
    };
    return std::vector<Value*>{as_result(scale, types[0]), as_result(zero, types[1])};
  };
  if (mapping == "ASYMMETRIC") {
    const Term scale = clamped((high - low) / (most - least));
    const Term zero = least - (low / scale).call("aten.round.default");
    return results(scale, zero.call("aten.clamp.default", {least, most}));
  }
  const std::int64_t middle = (limits.least + limits.most + 1) / 2;
  if (mapping == "SYMMETRIC") {
    const Term scale = clamped(max(-low, high) / ((most - least) / 2));
    return results(scale, scale.call("aten.full_like.default", {middle}));
  }
  if (mapping != "SYMMETRIC_NO_CLIPPING_ERR") return argument_error(fmt::format("mapping '{}'", mapping));
  const Term below = low / least, above = high / most;
  const Term scale = clamped(where(below > above, below, above));
  return results(scale, scale.call("aten.full_like.default", {middle}));
}

// --- quantization and dequantization

Types infer_affine_integers(const OpCall& call) {
  return tensor_result(call["output_dtype"].as_scalar_type(), call.tensor("input").sizes);
}
Replacement to_integers(Builder& b, const OpCall& call) {
  TRY(const Blocks blocks, blocks_of(call));
  TRY(const Limits limits, limits_of(call, "output_dtype"));
  const Term x(b, reshape(b, b.own(call.value("input")), blocks.split));
  const Term scale(b, reshape(b, b.own(call.value("scale")), blocks.counts));
  Term steps = (x * (1.0 / scale)).call("aten.round.default");
  if (!is_empty(call["zero_point"]))
    steps = steps + Term(b, reshape(b, b.own(call.value("zero_point")), blocks.counts));
  steps = steps.call("aten.clamp.default", {limits.least, limits.most});
  Value* integers = steps.to(call["output_dtype"].as_scalar_type()).value();
  return one(reshape(b, integers, call.tensor("input").sizes));
}

Types infer_affine_floats(const OpCall& call) {
  return tensor_result(call["output_dtype"].as_scalar_type(), call.tensor("input").sizes);
}

// Uses one kernel for constants, which would be large as floats; computed values are converted elementwise.
Value* rows_to_floats(Builder& b, const OpCall& call, const Blocks& blocks, const Limits& limits) {
  const SymInt count = product(blocks.per_dim);
  const Dims& sizes = call.tensor("input").sizes;
  const auto line = [&](std::string_view name, ScalarType type) {
    return to_dtype(b, reshape(b, b.own(call.value(name)), {count}), type);
  };
  Value* scale = line("scale", ScalarType::F32);
  Value* zero = is_empty(call["zero_point"]) ? b.call("aten.zeros.default", {Dims{count}, ScalarType::I64})
                                             : line("zero_point", ScalarType::I64);
  Value* rows = reshape(b, b.own(call.value("input")), {count, floor_div(product(sizes), count)});
  Value* floats = b.call("quantized_decomposed.dequantize_per_channel.default",
                         {rows, scale, zero, 0, limits.least, limits.most, call.tensor("input").dtype});
  return reshape(b, to_dtype(b, floats, call["output_dtype"].as_scalar_type()), sizes);
}
Replacement to_floats(Builder& b, const OpCall& call) {
  TRY(const Blocks blocks, blocks_of(call));
  TRY(const Limits limits, limits_of(call, "input_dtype"));
  const SymInt elements = call.tensor("input").numel();
  const bool is_given = call.value("input")->producer() == nullptr;
  if (is_given && blocks.has_rows && elements.is_constant() && elements.value() > 0)
    return one(rows_to_floats(b, call, blocks, limits));
  const ScalarType type = call["output_dtype"].as_scalar_type();
  const auto at_blocks = [&](std::string_view name) {
    return Term(b, reshape(b, b.own(call.value(name)), blocks.counts));
  };
  Term x = Term(b, reshape(b, b.own(call.value("input")), blocks.split)).to(type);
  if (!is_empty(call["zero_point"])) x = x - at_blocks("zero_point").to(type);
  x = (x * at_blocks("scale")).to(type);
  return one(reshape(b, x.value(), call.tensor("input").sizes));
}

constexpr OpRules affine(InferFunction infer, DecomposeFunction fit) {
  return {.flags = Core | Quantization, .infer = infer, .fit = fit};
}

// --- embedding lookups

// Packs two values per byte, the first in the high bits: [rows, n] to u8[rows, n / 2]
Value* packed(Builder& b, Value* table, std::int64_t columns) {
  const auto half = [&](std::int64_t start) {
    Value* part = b.call("aten.slice.Tensor", {table, 1, start, columns, 2});
    return to_dtype(b, b.call("aten.add.Tensor", {part, 8}), ScalarType::U8);
  };
  Value* above = b.call("aten.mul.Tensor", {half(0), 16});
  return b.call("aten.add.Tensor", {above, half(1)});
}

}  // namespace

Replacement embedding_of_blocks(Builder& b, const OpCall& call) {
  const Node* source = call.value("weight")->producer();
  if (source == nullptr || source->op() != "torchao.dequantize_affine.default") return std::vector<Value*>{};
  const OpCall table(*source);
  TRY(const Blocks blocks, blocks_of(table));
  TRY(const Limits limits, limits_of(table, "input_dtype"));
  const TensorType& type = table.tensor("input");
  const bool fits = table.value("input")->producer() == nullptr && type.rank() == 2 && blocks.has_rows &&
                    blocks.per_dim[0] == type.sizes[0] && type.sizes[1].is_constant() &&
                    (type.dtype == ScalarType::I8 || type.dtype == ScalarType::U8);
  if (!fits) return std::vector<Value*>{};
  const ScalarType result = table["output_dtype"].as_scalar_type();
  const auto per_block = [&](std::string_view name, ScalarType dtype) {
    return to_dtype(b, reshape(b, b.own(table.value(name)), blocks.per_dim), dtype);
  };
  Value* scales = per_block("scale", ScalarType::F32);
  Value* zeros = is_empty(table["zero_point"]) ? nullptr : per_block("zero_point", result);
  const std::int64_t columns = type.sizes[1].value();
  const bool is_small = type.dtype == ScalarType::I8 && limits.least >= -8 && limits.most <= 7;
  const bool is_packed = is_small && columns % 2 == 0;
  Value* weight = b.own(table.value("input"));
  if (is_packed) weight = packed(b, weight, columns);
  return one(b.call(
      is_packed ? "quantized_decomposed.embedding_4bit.dtype" : "quantized_decomposed.embedding_byte.dtype",
      {weight, scales, zeros, limits.least, limits.most, call["indices"], result}));
}

std::span<const OpLine> affine_ops() {
  static constexpr OpLine lines[] = {
      {"torchao.choose_qparams_affine.default(Tensor input, str mapping_type, SymInt[] block_size, "
       "ScalarType target_dtype, Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, "
       "ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, "
       "Tensor)",
       affine(infer_choice, choose)},
      {"torchao.quantize_affine.default(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
       "ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None)",
       affine(infer_affine_integers, to_integers)},
      {"torchao.dequantize_affine.default(Tensor input, SymInt[] block_size, Tensor scale, Tensor? "
       "zero_point, ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, ScalarType "
       "output_dtype=6)",
       affine(infer_affine_floats, to_floats)},
  };
  return lines;
}

}  // namespace depute::internal
