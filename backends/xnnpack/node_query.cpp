#include "node_query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "depute/program/infer.h"
#include "depute/program/text.h"
#include "graph.h"
#include "partition/node_names.h"
#include "payload/write_payload.h"
#include "quantized_patterns.h"

namespace depute::xnnpack {
namespace {

bool is_float(ScalarType dtype) {
  return std::ranges::find(float_types, dtype) != std::end(float_types);
}

Check check_tensor(const TensorType& type, bool takes_integers) {
  if (!is_float(type.dtype) && !takes_integers)
    return Refusal{"dtype", std::string(name(type.dtype)), "f32, f16"};
  if (type.rank() > max_rank) {
    return Refusal{"rank", std::to_string(type.rank()), fmt::format("at most {}", max_rank)};
  }
  for (const SymInt& size : type.sizes) {
    if (size == 0) return Refusal{"zero-size", sizes_text(type.sizes), "at least one element"};
  }
  return {};
}

// Checks conditions that only normalized programs can meet.
Check check_normalized(const Value& value, const Program& program, bool takes_layouts) {
  const TensorType& type = value.tensor();
  const bool is_ordered = takes_layouts && value.producer() == nullptr && dim_order(type).has_value();
  if (!type.is_contiguous() && !is_ordered) return Refusal{"layout", str(type), "contiguous"};
  for (const SymInt& size : type.sizes) {
    if (!upper_bound(size, program.ranges)) return Refusal{"unbounded", size.str(), "an upper bound"};
  }
  return {};
}

// Operands, and results with uses. A vector's allocations would cost more than all checks.
using Tensors = SmallVector<const Value*, 6>;
Tensors tensors_of(const Node& node) {
  Tensors tensors;
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    if (node.operand(i)->type().is_tensor()) tensors.push_back(node.operand(i));
  }
  for (const Value* result : node.results()) {
    if (result->type().is_tensor() && (result->has_uses() || node.results().size() == 1))
      tensors.push_back(result);
  }
  return tensors;
}

// Rules read arguments of Tensor type as tensors, so numbers are rejected here.
Check check_arguments(const NodeQuery& node) {
  const OpDef& def = node.call.def();
  for (std::size_t i = 0; i < def.args.size(); ++i) {
    const bool is_tensor = def.args[i].type == ArgType::Tensor && !def.args[i].is_list;
    if (is_tensor && !node.call[i].is_value() && !node.call[i].is_none()) {
      return refuse_argument(node, def.args[i].name.str(), "a tensor");
    }
  }
  return {};
}

// Rules rely on existing dimensions and on the correct rank of results, so both are checked with the op's
// infer function. Symbolic sizes that it cannot infer are taken from the program.
Check check_shapes(const NodeQuery& node) {
  const auto infer = node.call.def().infer;
  if (infer == nullptr) return {};
  const auto types = infer(node.call);
  if (!types) {
    if (types.error().code != bad_argument) return {};
    return Refusal{"argument", types.error().message, "a valid call"};
  }
  const std::span<const Value* const> results = node.call.node()->results();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Type& given = results[i]->type();
    if (i < types->size() && (!given.is_tensor() || given.tensor.rank() == (*types)[i].tensor.rank()))
      continue;
    return Refusal{"argument", str(given), "the result types of the op"};
  }
  return {};
}

// --- forms of a rule

const Value* tensor_of(const NodeQuery& node, std::string_view name) {
  return name == "result" ? node.node().result() : node.call.value(name);
}

Check need_known_sizes(const TensorType& type) {
  if (symbolic_count(type.sizes) == 0) return {};
  return Refusal{"dynamic-shape", sizes_text(type.sizes), "constant sizes"};
}

Check need_filled(const NodeQuery& node, const Limit& limit) {
  const Value* tensor = tensor_of(node, limit.of);
  if (tensor == nullptr || tensor->tensor().rank() < 2) return {};
  const Dims& sizes = tensor->tensor().sizes;
  if (limit.kind == LimitKind::Batch) return need_elements(node, {sizes[0]});
  return need_elements(node, Dims(sizes.end() - 2, sizes.end()));
}

Check need_first_result_alone(const NodeQuery& node) {
  for (std::size_t i = 1; i < node.node().results().size(); ++i) {
    if (node.node().result(i)->has_uses())
      return Refusal{"unused-result", fmt::format("result {} is used", i), "result 0 alone"};
  }
  return {};
}

Check need_one_of(const NodeQuery& node, const Limit& limit) {
  DEPUTE_REFUSE_IF(need_number(node, limit.of));
  const double given = node.call[limit.of].as_double();
  if (std::ranges::find(limit.values, given) != limit.values.end()) return {};
  return refuse_argument(node, limit.of, fmt::format("{}", fmt::join(limit.values, ", ")));
}

Check need_above(const NodeQuery& node, const Limit& limit) {
  DEPUTE_REFUSE_IF(need_number(node, limit.of));
  if (node.call[limit.of].as_double() > limit.least) return {};
  return refuse_argument(node, limit.of, fmt::format("more than {}", limit.least));
}

Check need_text(const NodeQuery& node, const Limit& limit) {
  if (node.call[limit.of].as_symbol() == limit.text) return {};
  return refuse_argument(node, limit.of, limit.text);
}

// Checks a limit on a tensor that is present.
Check check_limit(const Limit& limit, const TensorType& type) {
  switch (limit.kind) {
    case LimitKind::Rank:
      return need_rank(type, static_cast<std::size_t>(limit.least), static_cast<std::size_t>(limit.most));
    case LimitKind::DType:
      return need_dtype(type, limit.dtype);
    case LimitKind::OneOpenSize:
      return need_reshapable(type);
    case LimitKind::KnownSizes:
      return need_known_sizes(type);
    case LimitKind::Batch:
    case LimitKind::Matrix:
    case LimitKind::Constant:
    case LimitKind::Weight:
    case LimitKind::Number:
    case LimitKind::Above:
    case LimitKind::Ints:
    case LimitKind::OneOf:
    case LimitKind::Text:
    case LimitKind::FirstResult:
      break;
  }
  return {};
}

Check check_limit(const Limit& limit, const NodeQuery& node) {
  switch (limit.kind) {
    case LimitKind::Rank:
    case LimitKind::DType:
    case LimitKind::OneOpenSize:
    case LimitKind::KnownSizes: {
      const Value* tensor = tensor_of(node, limit.of);
      return tensor == nullptr ? Check() : check_limit(limit, tensor->tensor());
    }
    case LimitKind::Batch:
    case LimitKind::Matrix:
      return need_filled(node, limit);
    case LimitKind::Constant:
      return need_constant(node, limit.of);
    case LimitKind::Weight:
      return quantized_weight_of(node.context(), node.node()) ? Check() : need_constant(node, limit.of);
    case LimitKind::Number:
      return need_number(node, limit.of);
    case LimitKind::Above:
      return need_above(node, limit);
    case LimitKind::Ints:
      if (limit.most < limit::max_int + 1)
        return need_ints(node, limit.of, static_cast<std::int64_t>(limit.least));
      return need_ints(node, limit.of);
    case LimitKind::OneOf:
      return need_one_of(node, limit);
    case LimitKind::Text:
      return need_text(node, limit);
    case LimitKind::FirstResult:
      return need_first_result_alone(node);
  }
  return {};
}

Check check_form(Form form, const NodeQuery& node) {
  for (const Limit& limit : form) DEPUTE_REFUSE_IF(check_limit(limit, node));
  return {};
}

// Returns nullopt if the node meets one of the forms, else the refusal of the last form.
Check check_forms(const Forms& forms, const NodeQuery& node) {
  Check refusal = check_form(forms[0], node);
  if (!refusal || forms[1].empty()) return refusal;
  return check_form(forms[1], node);
}

}  // namespace

bool NodeQuery::is_constant(std::string_view name) const {
  const Value* value = call.value(name);
  if (value == nullptr || value->producer() != nullptr) return false;
  if (context_.method == nullptr) return true;
  const InputSpec* spec = input_spec(*context_.method, *value);
  return spec != nullptr && spec->has_data() && !is_mutated(*context_.method, *spec);
}

Check check_node(const QueryContext& context, const Node& node) {
  const OpRule* rule = find_op_rule(node.op());
  if (rule == nullptr || node.def() == nullptr || !check_call(node)) {
    return Refusal{"op", std::string(node.op().str()), "see `depute backends xnnpack`"};
  }
  const Tensors tensors = tensors_of(node);
  for (const Value* value : tensors) {
    DEPUTE_REFUSE_IF(check_tensor(value->tensor(), rule->takes_integers));
    if (context.program == nullptr) continue;
    DEPUTE_REFUSE_IF(check_normalized(*value, *context.program, rule->takes_layouts));
  }
  for (const Value* value : tensors) {
    const ScalarType dtype = value->tensor().dtype;
    if (rule->mixes_dtypes || rule->takes_integers || dtype == tensors[0]->tensor().dtype) continue;
    return Refusal{"dtype", fmt::format("{} and {}", name(tensors[0]->tensor().dtype), name(dtype)),
                   "one type"};
  }
  const NodeQuery query(context, node);
  DEPUTE_REFUSE_IF(check_shapes(query));
  if (!rule->takes_numbers) DEPUTE_REFUSE_IF(check_arguments(query));
  DEPUTE_REFUSE_IF(check_forms(rule->forms, query));
  return rule->check == nullptr ? Check() : rule->check(query);
}

std::string sizes_text(const Dims& sizes) {
  std::string text = "[";
  for (const SymInt& size : sizes) text += fmt::format("{}{}", text.size() == 1 ? "" : ", ", size.str());
  return text + "]";
}

Check refuse_argument(const NodeQuery& node, std::string_view name, std::string_view allowed) {
  return Refusal{"argument", fmt::format("{} = {}", name, print(node.call[name])), std::string(allowed)};
}

Check need_number(const NodeQuery& node, std::string_view name) {
  if (node.call[name].is_number() || node.call[name].is_none()) return {};
  return Refusal{"symbolic", fmt::format("{} = {}", name, print(node.call[name])), "a number"};
}

Check need_constant(const NodeQuery& node, std::string_view name) {
  if (!node.has(name) || node.is_constant(name)) return {};
  return Refusal{"static-weight", fmt::format("{} is computed at run time", name), "a constant"};
}

Check need_ints(const NodeQuery& node, std::string_view name) {
  if (node.call.is_constant_ints(name)) return {};
  return Refusal{"symbolic", fmt::format("{} = {}", name, print(node.call[name])), "numbers"};
}

Check need_ints(const NodeQuery& node, std::string_view name, std::int64_t least) {
  DEPUTE_REFUSE_IF(need_ints(node, name));
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t number : node.call.ints(name)) {
    if (number < least || number > most)
      return refuse_argument(node, name, fmt::format("{} to {}", least, most));
  }
  return {};
}

Check need_rank(const TensorType& type, std::size_t least, std::size_t most) {
  if (type.rank() >= least && type.rank() <= most) return {};
  return Refusal{"rank", std::to_string(type.rank()),
                 least == most ? std::to_string(least) : fmt::format("{} to {}", least, most)};
}

bool is_depthwise(const OpCall& convolution) {
  const bool is_transposed = convolution["transposed"].as_bool();
  const Argument& groups = convolution["groups"];
  return !is_transposed && groups.is_int() && groups.as_int() > 1 &&
         convolution.tensor("weight").sizes[1] == 1;
}

Check need_reshapable(const TensorType& type) {
  if (symbolic_count(type.sizes) <= 1) return {};
  return Refusal{"dynamic-shape", sizes_text(type.sizes), "at most one size known only at run time"};
}

Check need_elements(const NodeQuery& node, const Dims& sizes) {
  const Program* program = node.context().program;
  if (program == nullptr || !may_be_empty(sizes, program->ranges)) return {};
  return Refusal{"zero-size", fmt::format("{}, which may be empty", sizes_text(sizes)), "a lower bound of 1"};
}

Check need_dtype(const TensorType& type, ScalarType dtype) {
  if (type.dtype == dtype) return {};
  return Refusal{"dtype", std::string(name(type.dtype)), std::string(name(dtype))};
}

std::size_t dimension(const OpCall& call, std::string_view name, std::size_t rank) {
  const std::int64_t dim = call[name].as_int();
  return static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(std::max<std::size_t>(rank, 1))
                                          : dim);
}

}  // namespace depute::xnnpack
