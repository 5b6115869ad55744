// Normalization layers. In training mode they have functional forms, which append the new running statistics
// to their results.
//
//   aten.batch_norm.default(%x, %w, %b, %mean, %var, false, ...)
//   aten._native_batch_norm_legit_no_training.default(%x, %w, %b, %mean, %var, 0.1, 1e-05)
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

constexpr const char* instance_norm_in_training = "depute.instance_norm";

std::vector<Type> with_statistics(const TensorType& input, ScalarType dtype, Dims statistics) {
  Type own = tensor_type({.dtype = input.dtype, .sizes = input.sizes});
  Type extra = tensor_type({.dtype = dtype, .sizes = std::move(statistics)});
  return {own, extra, extra};
}

constexpr std::string_view channel_vectors[] = {"weight", "bias", "running_mean", "running_var"};

// Returns the type of a batch norm's statistics: that of its vectors, f32 beside an input of half precision.
ScalarType statistics_dtype(const OpCall& call) {
  for (std::string_view name : channel_vectors) {
    if (call.def().arg_index(Name(name)) >= 0 && !call[name].is_none()) return call.tensor(name).dtype;
  }
  return call.tensor("input").dtype;
}

// Fails unless given parameters have one number per channel, and running statistics are given both or not at
// all.
Status check_channels(const OpCall& call) {
  const TensorType& input = call.tensor("input");
  if (input.rank() < 2) return argument_error("the tensor has no channel dimension");
  for (std::string_view name : channel_vectors) {
    if (call.def().arg_index(Name(name)) < 0 || call[name].is_none()) continue;
    const TensorType& given = call.tensor(name);
    if (given.rank() != 1)
      return argument_error(fmt::format("'{}' must have rank 1, got rank {}", name, given.rank()));
    const SymInt &size = given.sizes[0], &channels = input.sizes[1];
    if (size == channels || !size.is_constant() || !channels.is_constant()) continue;
    return argument_error(
        fmt::format("'{}' has {} elements, but there are {} channels", name, size.str(), channels.str()));
  }
  const bool has_statistics = call.def().arg_index(Name("running_mean")) >= 0;
  if (has_statistics && call["running_mean"].is_none() != call["running_var"].is_none())
    return argument_error("'running_mean' and 'running_var' must be given together");
  return {};
}

Types infer_batch_norm_inference(const OpCall& call) {
  TRY_STATUS(check_channels(call));
  return with_statistics(call.tensor("input"), statistics_dtype(call), {0});
}
Types infer_batch_norm_training(const OpCall& call) {
  TRY_STATUS(check_channels(call));
  const TensorType& input = call.tensor("input");
  return with_statistics(input, statistics_dtype(call), {input.sizes[1]});
}
Types infer_like_input(const OpCall& call) {
  return tensor_result(call.tensor("input").dtype, call.tensor("input").sizes);
}

Types infer_channel_norm(const OpCall& call) {
  TRY_STATUS(check_channels(call));
  return infer_like_input(call);
}

Replacement first_of(Builder& b, std::string_view op, std::initializer_list<BuilderArgument> args) {
  std::vector<Value*> results = b.call_all(op, args);
  return one(results[0]);
}

// Uses the input's own statistics, or the running ones.
Types infer_native_batch_norm(const OpCall& call) {
  return call.boolean("training") ? infer_batch_norm_training(call) : infer_batch_norm_inference(call);
}
Replacement native_batch_norm(Builder& b, const OpCall& call) {
  if (call.boolean("training")) {
    return b.call_all("aten._native_batch_norm_legit.no_stats",
                      {call["input"], call["weight"], call["bias"], true, call["momentum"], call["eps"]});
  }
  if (call["running_mean"].is_none() || call["running_var"].is_none()) {
    return type_error("batch norm requires running statistics");
  }
  return b.call_all("aten._native_batch_norm_legit_no_training.default",
                    {call["input"], call["weight"], call["bias"], call["running_mean"], call["running_var"],
                     call["momentum"], call["eps"]});
}
// Computes what the kernel does not compute as torch does: f64, which it takes as f32, half precision, which it
// does not widen, and an eps of 0, which beside a variance of 0 gives a factor of 0.
Replacement batch_norm_by_parts(Builder& b, const OpCall& call) {
  const TensorType& input = call.tensor("input");
  const double eps = call.number("eps");
  if (input.dtype == ScalarType::F32 && eps != 0) return std::vector<Value*>{};
  std::vector<std::int64_t> dims{0};
  for (std::size_t i = 2; i < input.rank(); ++i) dims.push_back(static_cast<std::int64_t>(i));
  Value* x = to_compute_type(b, call.value("input"));
  const auto wide = [&](Value* vector) { return along(b, vector, 1, input.rank()); };
  Value* mean = b.call("aten.mean.dim", {x, dims});
  Value* variance = b.call("aten.var.correction", {x, dims, 0});
  Value* factor = b.call("aten.rsqrt.default", {b.call("aten.add.Scalar", {variance, eps})});
  if (eps == 0) factor = zero_unless(b, b.call("aten.ne.Scalar", {variance, 0}), factor);
  Value* result = b.call("aten.mul.Tensor", {b.call("aten.sub.Tensor", {x, wide(mean)}), wide(factor)});
  if (!call["weight"].is_none())
    result = b.call("aten.mul.Tensor", {result, wide(b.own(call.value("weight")))});
  if (!call["bias"].is_none()) result = b.call("aten.add.Tensor", {result, wide(b.own(call.value("bias")))});
  const ScalarType statistics = statistics_dtype(call);
  return std::vector<Value*>{to_dtype(b, result, input.dtype), to_dtype(b, mean, statistics),
                             to_dtype(b, factor, statistics)};
}
bool is_tensor(const Argument& argument) {
  return argument.is_value() && argument.as_value()->type().is_tensor();
}
Replacement norm_in_f32(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, call.def().infer(call));
  std::vector<BuilderArgument> args;
  for (const Argument& argument : call.args()) {
    if (is_tensor(argument)) {
      args.emplace_back(to_dtype(b, b.own(argument.as_value()), ScalarType::F32));
    } else {
      args.emplace_back(argument);
    }
  }
  std::vector<Value*> results = b.call_all(call.def().name.str(), args);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = to_dtype(b, results[i], types[i].tensor.dtype);
  return results;
}
// Kernels take parameters of the input's type; torch computes half precision with f32 parameters in f32.
Replacement norm_in_one_type(Builder& b, const OpCall& call) {
  const ScalarType dtype = call.tensor("input").dtype;
  const bool is_mixed = std::ranges::any_of(call.args(), [dtype](const Argument& argument) {
    return is_tensor(argument) && argument.as_value()->tensor().dtype != dtype;
  });
  return is_mixed ? norm_in_f32(b, call) : Replacement(std::vector<Value*>{});
}
// The runtime's kernel takes wrong means of 256 numbers of half precision and more.
Replacement layer_norm_of_halves(Builder& b, const OpCall& call) {
  return is_half_precision(call.tensor("input").dtype) ? norm_in_f32(b, call)
                                                       : Replacement(std::vector<Value*>{});
}

Replacement batch_norm(Builder& b, const OpCall& call) {
  TRY(std::vector<Value*> results, native_batch_norm(b, call));
  return one(results[0]);
}

// Moves the running statistics toward those of the input by `momentum`.
Value* moved(Builder& b, const OpCall& call, std::string_view running, Value* current) {
  Value* kept = b.call("aten.mul.Tensor", {call[running], 1 - call.number("momentum")});
  Value* added = b.call("aten.mul.Tensor", {current, call.number("momentum")});
  return to_dtype(b, b.call("aten.add.Tensor", {kept, added}), call.tensor(running).dtype);
}

// Returns the mean or variance of each channel, over all other dimensions.
Value* channel_statistic(Builder& b, const OpCall& call, std::string_view op) {
  std::vector<std::int64_t> dims{0};
  for (std::size_t i = 2; i < call.tensor("input").rank(); ++i) dims.push_back(static_cast<std::int64_t>(i));
  return b.call(op, {call["input"], dims});
}

// Appends the running statistics to the other results.
std::vector<Type> with_running(std::vector<Type> types, const OpCall& call) {
  for (std::string_view running : {"running_mean", "running_var"}) {
    const TensorType& type = call.tensor(running);
    types.push_back(tensor_type({.dtype = type.dtype, .sizes = type.sizes}));
  }
  return types;
}

Types infer_batch_norm_functional(const OpCall& call) {
  TRY(std::vector<Type> types, infer_native_batch_norm(call));
  return with_running(std::move(types), call);
}
Replacement batch_norm_functional(Builder& b, const OpCall& call) {
  TRY(std::vector<Value*> in_one_type, norm_in_one_type(b, call));
  if (!in_one_type.empty()) return in_one_type;
  TRY(std::vector<Value*> results, native_batch_norm(b, call));
  Value* mean = b.own(call.value("running_mean"));
  Value* variance = b.own(call.value("running_var"));
  if (call.boolean("training")) {
    mean = moved(b, call, "running_mean", channel_statistic(b, call, "aten.mean.dim"));
    variance = moved(b, call, "running_var", channel_statistic(b, call, "aten.var.correction"));
  }
  results.push_back(mean);
  results.push_back(variance);
  return results;
}

// Also has a reserve after the input's statistics, which is empty on CPUs.
constexpr std::size_t reserve_at = 3;

Types infer_batch_norm_with_update(const OpCall& call) {
  TRY(std::vector<Type> types, infer_batch_norm_training(call));
  types.push_back(tensor_type({.dtype = ScalarType::U8, .sizes = {0}}));
  return types;
}
Types infer_batch_norm_with_update_functional(const OpCall& call) {
  TRY(std::vector<Type> types, infer_batch_norm_with_update(call));
  return with_running(std::move(types), call);
}
Replacement batch_norm_with_update_functional(Builder& b, const OpCall& call) {
  std::vector<Value*> results = b.call_all("aten._native_batch_norm_legit_functional.default",
                                           {call["input"], call["weight"], call["bias"], call["running_mean"],
                                            call["running_var"], true, call["momentum"], call["eps"]});
  results.insert(results.begin() + reserve_at, b.call("aten.full.default", {Dims{0}, 0, ScalarType::U8}));
  return results;
}

// --- layer norm

Types infer_native_layer_norm(const OpCall& call) {
  const TensorType& input = call.tensor("input");
  std::size_t count = as_dims(call["normalized_shape"]).size();
  if (count == 0 || count > input.rank())
    return argument_error("layer norm over more dimensions than the tensor has");
  Dims statistics = input.sizes;
  for (std::size_t i = input.rank() - count; i < input.rank(); ++i) statistics[i] = 1;
  return with_statistics(input, input.dtype, std::move(statistics));
}
Replacement layer_norm(Builder& b, const OpCall& call) {
  return first_of(b, "aten.native_layer_norm.default",
                  {call["input"], call["normalized_shape"], call["weight"], call["bias"], call["eps"]});
}

// x / sqrt(mean(x * x) + eps) * weight; half precision is computed in f32
Replacement rms_norm(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("input"));
  ScalarType dtype = x->tensor().dtype;
  const bool is_half = is_half_precision(dtype);
  if (is_half) x = b.call("aten._to_copy.default", {x, ScalarType::F32});
  std::size_t count = as_dims(call["normalized_shape"]).size();
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < count; ++i) dims.push_back(-static_cast<std::int64_t>(count - i));
  double eps = dtype == ScalarType::F64 ? std::numeric_limits<double>::epsilon()
                                        : static_cast<double>(std::numeric_limits<float>::epsilon());
  if (!call["eps"].is_none()) eps = call.number("eps");
  Value* squares = b.call("aten.pow.Tensor_Scalar", {x, 2});
  Value* mean = b.call("aten.mean.dim", {squares, dims, true});
  Value* scale = b.call("aten.rsqrt.default", {b.call("aten.add.Tensor", {mean, eps})});
  Value* result = b.call("aten.mul.Tensor", {x, scale});
  if (is_half) result = b.call("aten._to_copy.default", {result, dtype});
  if (!call["weight"].is_none()) result = b.call("aten.mul.Tensor", {result, call["weight"]});
  return one(result);
}

// --- group norm

struct GroupSizes {
  SymInt batch, channels, rest;
};

GroupSizes group_sizes(const TensorType& input) {
  return {input.sizes[0], input.sizes[1], product({input.sizes.data() + 2, input.rank() - 2})};
}

Types infer_native_group_norm(const OpCall& call) {
  TRY_STATUS(check_channels(call));
  return with_statistics(call.tensor("input"), call.tensor("input").dtype,
                         {as_sym_int(call["N"]), as_sym_int(call["group"])});
}

// The kernel takes the mean's square from that of the numbers, where f32 has no digits left of a variance that
// is small beside them: it is told how far they are from the first of their group.
Replacement group_norm_near_zero(Builder& b, const OpCall& call) {
  const TensorType& input = call.tensor("input");
  if (is_half_precision(input.dtype) || input.static_numel() == 0) return std::vector<Value*>{};
  const SymInt batch = as_sym_int(call["N"]), groups = as_sym_int(call["group"]);
  const SymInt size = floor_div(as_sym_int(call["C"]), groups) * as_sym_int(call["HxW"]);
  Value* rows = b.view(b.own(call.value("input")), {batch, groups, size});
  Value* first = b.call("aten.slice.Tensor", {rows, 2, 0, 1});
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  Value* distances = b.call("aten.sub.Tensor", {rows, first});
  args[0] = b.view(distances, input.sizes);
  std::vector<Value*> results = b.call_all(call.def().name.str(), args);
  results[1] = b.call("aten.add.Tensor", {results[1], b.view(first, {batch, groups})});
  return results;
}

Replacement grouped(Builder& b, const OpCall& call, const SymInt& groups) {
  const TensorType& input = call.tensor("input");
  if (input.rank() < 2) return argument_error("group norm requires a channel dimension");
  GroupSizes sizes = group_sizes(input);
  return first_of(b, "aten.native_group_norm.default",
                  {call["input"], call["weight"], call["bias"], b.size(sizes.batch), b.size(sizes.channels),
                   b.size(sizes.rest), b.size(groups), call["eps"]});
}
Replacement group_norm(Builder& b, const OpCall& call) {
  return grouped(b, call, as_sym_int(call["num_groups"]));
}

// With the input's own statistics, an instance norm is a group norm with one group per channel.
Replacement instance_norm(Builder& b, const OpCall& call) {
  const TensorType& input = call.tensor("input");
  if (input.rank() < 2) return argument_error("instance norm requires a channel dimension");
  if (call.boolean("use_input_stats") && call.number("eps") == 0)
    return argument_error("instance norm requires an eps above 0");
  if (call.boolean("use_input_stats")) return grouped(b, call, input.sizes[1]);
  return first_of(b, "aten._native_batch_norm_legit_no_training.default",
                  {call["input"], call["weight"], call["bias"], call["running_mean"], call["running_var"],
                   call["momentum"], call["eps"]});
}

// The running statistics move toward the means of the statistics of all instances.
Types infer_instance_norm_functional(const OpCall& call) {
  TRY(std::vector<Type> types, infer_channel_norm(call));
  for (std::string_view running : {"running_mean", "running_var"}) {
    const TensorType& type = call.tensor(running);
    types.push_back(tensor_type({.dtype = type.dtype, .sizes = type.sizes}));
  }
  return types;
}
Replacement instance_norm_functional(Builder& b, const OpCall& call) {
  const TensorType& input = call.tensor("input");
  TRY(std::vector<Value*> results, instance_norm(b, call));
  std::vector<std::int64_t> dims;
  for (std::size_t i = 2; i < input.rank(); ++i) dims.push_back(static_cast<std::int64_t>(i));
  auto statistic = [&](std::string_view op) {
    Value* own = b.call(op, {call["input"], dims});
    return b.call("aten.mean.dim", {own, std::vector<std::int64_t>{0}});
  };
  results.push_back(moved(b, call, "running_mean", statistic("aten.mean.dim")));
  results.push_back(moved(b, call, "running_var", statistic("aten.var.correction")));
  return results;
}

// --- weight norm: v * (g / |v|), with the norm over all dimensions but one

Types infer_weight_norm(const OpCall& call) {
  const bool is_whole = call.integer("dim") == -1;
  if (!is_whole && call.tensor("g").rank() != call.tensor("v").rank())
    return argument_error("weight norm requires 'g' and 'v' of the same rank");
  TRY(const std::size_t kept, wrap_dim(call.integer("dim"), call.tensor("v").rank()));
  for (std::size_t i = 0; !is_whole && i < call.tensor("g").rank(); ++i) {
    const SymInt& size = call.tensor("g").sizes[i];
    if (i != kept && size.is_constant() && size != 1)
      return argument_error("weight norm requires one number of 'g' for each index of its dimension");
  }
  return tensor_result(call.tensor("v").dtype, call.tensor("v").sizes);
}
Replacement weight_norm(Builder& b, const OpCall& call) {
  std::size_t rank = call.tensor("v").rank();
  TRY(std::size_t kept, wrap_dim(call.integer("dim"), rank));
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < rank; ++i) {
    if (call.integer("dim") == -1 || i != kept) dims.push_back(static_cast<std::int64_t>(i));
  }
  // An empty list would mean all dimensions.
  Value* norm = dims.empty() ? b.call("aten.abs.default", {call["v"]})
                             : b.call("aten.linalg_vector_norm.default", {call["v"], 2, dims, true});
  return one(b.call("aten.mul.Tensor", {call["v"], b.call("aten.div.Tensor", {call["g"], norm})}));
}

}  // namespace

std::span<const OpLine> norm_ops() {
  static constexpr OpLine lines[] = {
      {"aten.batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
       "running_var, bool training, float momentum, float eps, bool cudnn_enabled)",
       {.infer = infer_channel_norm,
        .decompose = batch_norm,
        .functional = "aten._native_batch_norm_legit_functional.default"}},
      {"aten.native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
       "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       {.infer = infer_native_batch_norm,
        .decompose = native_batch_norm,
        .functional = "aten._native_batch_norm_legit_functional.default"}},
      {"aten._native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
       "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       {.infer = infer_native_batch_norm,
        .decompose = native_batch_norm,
        .functional = "aten._native_batch_norm_legit_functional.default"}},
      {"aten._native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
       "running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, "
       "Tensor, Tensor running_mean_out, Tensor running_var_out)",
       composite(infer_batch_norm_functional, batch_norm_functional)},
      {"aten._batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
       "Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
       {.infer = infer_batch_norm_with_update,
        .functional = "aten._batch_norm_with_update_functional.default"}},
      {"aten._batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
       "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, "
       "Tensor running_mean_out, Tensor running_var_out)",
       composite(infer_batch_norm_with_update_functional, batch_norm_with_update_functional)},
      {"aten._native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor "
       "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       {.flags = Core,
        .out = "_native_batch_norm_legit_no_training.out",
        .infer = infer_batch_norm_inference,
        .decompose = norm_in_one_type}},
      {"aten._native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, "
       "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       fitted(batch_norm_by_parts,
              kernel("_native_batch_norm_legit.no_stats_out", infer_batch_norm_training))},
      {"aten.native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float "
       "eps) -> (Tensor, Tensor, Tensor)",
       {.flags = Core,
        .out = "native_layer_norm.out",
        .infer = infer_native_layer_norm,
        .decompose = norm_in_one_type,
        .fit = layer_norm_of_halves}},
      {"aten.layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
       "float eps=1.0000000000000001e-05, bool cudnn_enable=True)",
       composite(infer_like_input, layer_norm)},
      {"aten.rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None)",
       composite(infer_like_input, rms_norm)},
      {"aten.native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, "
       "int group, float eps) -> (Tensor, Tensor, Tensor)",
       {.flags = Core,
        .out = "native_group_norm.out",
        .infer = infer_native_group_norm,
        .decompose = norm_in_one_type,
        .fit = group_norm_near_zero}},
      {"aten.group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
       "eps=1.0000000000000001e-05, bool cudnn_enabled=True)",
       composite(infer_like_input, group_norm)},
      {"aten.instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
       "running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled)",
       {.infer = infer_channel_norm, .decompose = instance_norm, .functional = instance_norm_in_training}},
      {"depute.instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor "
       "running_var, bool use_input_stats, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       {.origin = OpOrigin::Compiler,
        .infer = infer_instance_norm_functional,
        .decompose = instance_norm_functional}},
      {"aten._weight_norm(Tensor v, Tensor g, int dim=0)", composite(infer_weight_norm, weight_norm)},
  };
  return lines;
}

}  // namespace depute::internal
