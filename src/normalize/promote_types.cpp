// Makes type promotion explicit: converts the arguments of an op to the element type of its computation.
//
//   %y: f32[4] = aten.add.Tensor(%x: f32[4], 2)
//     ->  %two: f32[] = constant "two"
//         %y: f32[4] = aten.add.Tensor(%x, %two)
//
//   %z: f32[4] = aten.mul.Tensor(%x: f32[4], %i: i64[4])
//     ->  %f: f32[4] = dim_order_ops._to_dim_order_copy.default(%i, dtype=.f32)
//         %z: f32[4] = aten.mul.Tensor(%x, %f)
//
// A number becomes a constant of the final type, so it is not converted at run time. Conversions get their
// Edge name, dim_order_ops._to_dim_order_copy.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "depute/program/builder.h"
#include "depute/program/infer.h"
#include "depute/program/op.h"
#include "ir/small_float.h"
#include "normalize/bodies/body_operands.h"
#include "normalize/pass_error.h"
#include "normalize/passes.h"
#include "ops/idioms.h"
#include "support/try.h"

namespace depute {
namespace {

template <typename T>
std::vector<std::byte> bytes_of(T number) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(number);
  return {bytes.begin(), bytes.end()};
}

std::int64_t to_integer(const Argument& number) {
  return number.kind == Argument::Kind::Float ? static_cast<std::int64_t>(number.as_double())
                                              : number.as_int();
}

// Encodes the number as one element; nullopt for complex types, and for floats in an integer type.
std::optional<std::vector<std::byte>> element(ScalarType dtype, const Argument& number) {
  if (is_small_float(dtype)) {
    std::vector<std::byte> bytes = bytes_of(encode_small_float(dtype, number.as_double()));
    bytes.resize(item_size(dtype));  // little endian: an 8-bit float is the first byte
    return bytes;
  }
  if (dtype == ScalarType::F32) return bytes_of(static_cast<float>(number.as_double()));
  if (dtype == ScalarType::F64) return bytes_of(number.as_double());
  if (dtype == ScalarType::Bool) return std::vector<std::byte>{std::byte(number.as_bool() ? 1 : 0)};
  if (!is_integral(dtype)) return std::nullopt;
  bool fits = number.kind != Argument::Kind::Float || std::fabs(number.as_double()) < 0x1p63;
  if (!fits) return std::nullopt;
  std::vector<std::byte> bytes = bytes_of(to_integer(number));
  bytes.resize(item_size(dtype));
  return bytes;
}

// Converts a number to the element type like PyTorch, with C rules: -1 as u8 is 255, 1.01 as bf16 is
// 1.0078125. Kernels compare and clamp with the unconverted number, or reject it.
Argument within_type(const Argument& number, ScalarType dtype) {
  if (number.kind == Argument::Kind::Float && internal::is_half_precision(dtype))
    return Argument::of(decode_small_float(dtype, encode_small_float(dtype, number.as_double())));
  const std::size_t bits = item_size(dtype) * 8;
  if (!number.is_int() || !is_integral(dtype) || dtype == ScalarType::Bool || bits >= 64) return number;
  const auto low_bits = static_cast<std::uint64_t>(number.as_int()) << (64 - bits);
  const bool is_unsigned = dtype == ScalarType::U8;
  return Argument::of(is_unsigned ? static_cast<std::int64_t>(low_bits >> (64 - bits))
                                  : static_cast<std::int64_t>(low_bits) >> (64 - bits));
}

class Promoter {
 public:
  Promoter(Program& program, Method& method) : program_(program), method_(method), operands_(method) {}

  Status run() {
    for (Graph* graph : operands_.graphs()) {
      graph_ = graph;
      TRY_STATUS(run_graph());
    }
    return {};
  }

 private:
  Status run_graph() {
    for (Node& node : graph_->nodes()) {
      const OpDef* def = node.def();
      if (def != nullptr && def->promotes()) TRY_STATUS(promote(node, *def));
      if (node.op() == to_copy_) TRY_STATUS(rename_conversion(node));
    }
    return {};
  }

  Status promote(Node& node, const OpDef& def) {
    TRY_STATUS(check_call(node));
    OpCall call(node);
    ScalarType dtype = promoted_type(call);
    bool changed = false;
    std::vector<Argument> args(call.args().begin(), call.args().end());
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (!def.args[i].is_promoted || args[i].is_none()) continue;
      if (def.args[i].type != ArgType::Tensor) {  // this argument is a number
        const Argument wrapped = within_type(args[i], dtype);
        changed = changed || (wrapped.is_number() && wrapped.as_double() != args[i].as_double());
        args[i] = wrapped;
        continue;
      }
      TRY(Argument promoted, promote(node, args[i], dtype));
      changed =
          changed || !promoted.is_value() || !args[i].is_value() || promoted.as_value() != args[i].as_value();
      args[i] = promoted;
    }
    if (changed) set_args(node, def, args);
    return {};
  }

  Result<Argument> promote(Node& node, const Argument& argument, ScalarType dtype) {
    if (argument.is_value() && argument.as_value()->type().is_tensor()) {
      const Value* value = argument.as_value();
      if (value->tensor().dtype == dtype) return argument;
      Value*& converted = conversions_[{value, dtype}];
      if (converted != nullptr) return Argument::of(converted);
      Builder builder(*graph_, &node);
      builder.inherit(node);
      converted = builder.call("aten._to_copy.default", {value, dtype});
      if (builder.failed()) return node_error(node, builder.status().error().message);
      TRY_STATUS(rename_conversion(*converted->producer()));
      return Argument::of(converted);
    }
    if (argument.is_value()) return run_time_number(node, argument, dtype);
    Value* constant = argument.is_number() ? constant_of(argument, dtype) : nullptr;
    if (constant != nullptr) return Argument::of(constant);
    return node_error(node, fmt::format("a number cannot be represented as {}", name(dtype)));
  }

  // Builds a tensor for a number that is known only at run time, such as a size.
  Result<Argument> run_time_number(Node& node, const Argument& argument, ScalarType dtype) {
    Builder builder(*graph_, &node);
    builder.inherit(node);
    Value* tensor = builder.call("aten.scalar_tensor.default", {argument, dtype});
    if (builder.failed()) return node_error(node, builder.status().error().message);
    return Argument::of(tensor);
  }

  // Returns the constant for a number: one input per number and type in each method, one tensor for all
  // methods.
  Value* constant_of(const Argument& number, ScalarType dtype) {
    auto bytes = element(dtype, number);
    if (!bytes) return nullptr;
    std::string text = fmt::format("scalar_{}_", name(dtype));
    for (std::size_t i = bytes->size(); i-- > 0;)
      text += fmt::format("{:02x}", static_cast<unsigned>((*bytes)[i]));
    Value*& constant = constants_[text];
    if (constant != nullptr) return operands_.in_graph(*constant, *graph_);
    Name key = Name::scoped(text);
    const TensorData* known = program_.find_data(key);
    TensorData data = make_data(make_tensor(dtype, {}), std::move(*bytes));
    if (known == nullptr) program_.data[key] = data;
    bool is_same = known == nullptr || (!is_state(key) && known->type == data.type &&
                                        have_same_bytes(*dense_bytes(*known), *dense_bytes(data)));
    if (!is_same) {
      key = program_.unique_data_key(text);
      program_.data[key] = data;
    }
    constant = method_.graph->add_input(key, tensor_type(data.type));
    method_.inputs.push_back({.kind = InputSpec::Kind::Constant, .target = key, .constant = std::nullopt});
    return operands_.in_graph(*constant, *graph_);
  }

  // True if a model has a mutable buffer of this name.
  bool is_state(Name key) const {
    return std::ranges::any_of(program_.methods, [&](const auto& method) {
      return is_mutated(*method, {.kind = InputSpec::Kind::Buffer, .target = key, .constant = std::nullopt});
    });
  }

  // Sets arguments in schema order: positional up to the keyword-only ones.
  void set_args(Node& node, const OpDef& def, const std::vector<Argument>& all) {
    std::vector<Argument> args;
    std::vector<NamedArgument> kwargs;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!def.args[i].keyword_only) {
        args.push_back(all[i]);
        continue;
      }
      bool was_given = false;
      for (const NamedArgument& named : node.kwargs())
        was_given = was_given || named.name == def.args[i].name;
      if (was_given) kwargs.push_back({def.args[i].name, all[i]});
    }
    graph_->set_args(node, args, kwargs);
  }

  Status rename_conversion(Node& node) {
    TRY_STATUS(check_call(node));
    OpCall call(node);
    Argument source = call["self"];
    ScalarType dtype = node.result()->tensor().dtype;
    graph_->set_op(node, Name("dim_order_ops._to_dim_order_copy.default"));
    NamedArgument named{Name("dtype"), Argument::of(dtype)};
    graph_->set_args(node, std::span(&source, 1), std::span(&named, 1));
    return {};
  }

  Program& program_;
  Method& method_;
  BodyOperands operands_;
  Graph* graph_ = nullptr;  // the graph being visited
  Name to_copy_{"aten._to_copy.default"};
  std::map<std::string, Value*> constants_;
  std::map<std::pair<const Value*, ScalarType>, Value*> conversions_;  // never iterated
};

}  // namespace

// Afterwards tensor arguments have the element type of the op's computation, and tensor arguments are never
// numbers.
Status promote_types(Program& program, const NormalizeOptions&) {
  for (auto& method : program.methods) TRY_STATUS(Promoter(program, *method).run());
  return {};
}

}  // namespace depute
