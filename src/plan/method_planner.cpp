#include "plan/method_planner.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/control/control_ops.h"
#include "ops/own_ops.h"
#include "plan/maker.h"
#include "plan/memory/tensor_bounds.h"
#include "plan/target_device.h"
#include "support/check.h"
#include "support/try.h"

namespace depute::internal {
EValue::Kind scalar_kind(Type::Kind kind) {
  switch (kind) {
    case Type::Kind::SymInt:
    case Type::Kind::Int:
      return EValue::Kind::Int;
    case Type::Kind::SymFloat:
    case Type::Kind::Float:
      return EValue::Kind::Double;
    case Type::Kind::SymBool:
    case Type::Kind::Bool:
      return EValue::Kind::Bool;
    case Type::Kind::Tensor:
    case Type::Kind::None:
    case Type::Kind::CustomObj:
    case Type::Kind::Token:
    case Type::Kind::String:
      return EValue::Kind::Null;
  }
  return EValue::Kind::Null;
}

namespace {

// Returns the index of a value in `values`, where it is added if it is new.
template <typename T>
std::uint32_t index_in(std::vector<T>& values, std::map<T, std::uint32_t>& known, T value) {
  const auto [entry, is_new] = known.try_emplace(std::move(value), static_cast<std::uint32_t>(values.size()));
  if (is_new) values.push_back(entry->first);
  return entry->second;
}

}  // namespace

MethodPlanner::MethodPlanner(const Program& program, const Method& method, Placement placement,
                             SharedPlanning& shared)
    : program_(program),
      method_(method),
      placement_(std::move(placement)),
      constants_(shared.constants),
      needed_(shared.needed),
      delegate_index_(shared.delegates),
      options_(shared.options),
      refused_(std::move(placement_.refused)),
      pool_(plan_),
      index_(placement_.values.size(), -1),
      equal_delegates_(program, shared.stateful),
      bounder_(program.ranges) {}

Result<ExecutionPlan> MethodPlanner::run() {
  plan_.name = std::string(method_.name.str());
  plan_.in_spec = method_.in_spec;
  plan_.out_spec = method_.out_spec;
  plan_inputs();
  for (const Node& node : method_.graph->nodes()) TRY_STATUS(plan_or_refuse(node));
  TRY_STATUS(plan_stores());
  TRY_STATUS(plan_outputs());
  plan_.memory_sizes.assign(placement_.memory_sizes.begin(), placement_.memory_sizes.end());
  plan_.banks = std::move(placement_.banks);
  return std::move(plan_);
}

Failure MethodPlanner::fail(const Node* node, std::string_view message, std::string_view hint) const {
  return plan_error(method_.name, node, message, hint);
}

Failure MethodPlanner::has_no_kernel(const Node& node) const {
  auto failure =
      fail(&node, fmt::format("ExecuTorch's runtime has no kernel for {}", node.op().str()),
           node.def() == nullptr
               ? "name its kernel with --kernels FILE, if the application registers one, or choose a "
                 "backend that supports it"
               : "choose a backend that supports it, or replace it in the model");
  failure.error().code = no_kernel;
  return failure;
}

// Adds the results of a refused node anyway, so that planning finds further errors. After a refused mark of
// control flow, planning stops.
Status MethodPlanner::plan_or_refuse(const Node& node) {
  Status planned = plan_node(node);
  if (planned || control_op(node) != ControlOp::None) return planned;
  for (const Value* result : node.results()) add_result(*result);
  refused_.push_back({&node, std::move(planned).error()});
  return {};
}

void MethodPlanner::plan_inputs() {
  for (const Value* input : method_.graph->inputs()) {
    const InputSpec& spec = *input_spec(method_, *input);
    const PlaceKind kind = placement_[*input].kind;
    if (kind == PlaceKind::State || (spec.has_data() && kind == PlaceKind::Caller))
      index_[placement_.numbers[*input]] = pool_.add_tensor(placement_[*input].tensor);
    if (spec.has_data()) continue;  // constants join the plan when they are used
    std::int32_t& index = index_[placement_.numbers[*input]];
    if (input->type().is_tensor() && spec.kind == InputSpec::Kind::UserInput && !spec.constant) {
      index = pool_.add_tensor(placement_[*input].tensor);
    } else {
      Result<EValue> value = user_value(*input, spec);
      index = pool_.add(value ? *value : EValue{});
      if (!value) refused_.push_back({nullptr, std::move(value).error()});
    }
    plan_.inputs.push_back(index);
  }
}

Result<EValue> MethodPlanner::user_value(const Value& input, const InputSpec& spec) {
  if (spec.kind != InputSpec::Kind::UserInput) {
    return fail(nullptr, fmt::format("input %{} is a custom object or a token", input.name().str()),
                "the runtime supports inputs that are tensors, numbers, strings or None");
  }
  if (spec.constant) return literal_value(nullptr, *spec.constant);
  return user_number(input);
}

// The runtime expects the number of the export, so a number that may vary cannot be an input.
Result<EValue> MethodPlanner::user_number(const Value& input) {
  const Type& type = input.type();
  if (type.kind == Type::Kind::None) return EValue{};
  if (type.kind == Type::Kind::SymInt && type.expr != nullptr) {
    Range range = bounds(type.expr, program_.ranges);
    if (range.min == range.max) return EValue{.kind = EValue::Kind::Int, .int_value = range.min};
  }
  const bool is_symbol =
      type.kind == Type::Kind::SymInt && type.expr != nullptr && type.expr->kind == SymExpr::Kind::Symbol;
  return fail(
      nullptr,
      fmt::format("input %{} is a number that may vary ({}); the runtime accepts only one value",
                  input.name().str(), str(type)),
      is_symbol
          ? fmt::format("fix it with --bound {0}=N..N, or pass it as a tensor, or as a size of a tensor",
                        str(type.expr))
          : "pass it as a tensor, or as a size of a tensor");
}

// Returns the index of a value after all nodes have run: its copy, if the stores overwrite it.
Result<std::int32_t> MethodPlanner::final_index_of(const Value& value) {
  auto copy = copies_.find(&value);
  if (copy != copies_.end()) return copy->second;
  return index_of(value, nullptr);
}

// Copies old contents that are still needed, then adds the stores.
Status MethodPlanner::plan_stores() {
  for (const auto& [value, tensor] : placement_.old_contents) {
    TRY(std::int32_t old, index_of(*value, nullptr));
    origin_ = maker_of(program_, *value);
    std::int32_t copy = pool_.add_tensor(tensor);
    call("aten::clone.out", {old, pool_.null(), copy, copy});
    copies_.emplace(value, copy);
  }
  for (const auto& [target, content] : placement_.stores) {
    origin_ = maker_of(program_, *content);
    TRY(std::int32_t to, index_of(*target, nullptr));
    TRY(std::int32_t from, final_index_of(*content));
    if (target->tensor().is_contiguous()) {
      call("aten::copy_", {to, from, pool_.boolean(false), to});
      continue;
    }
    // The caller's tensor keeps its dimension order.
    std::vector<std::int64_t> order;
    for (std::uint8_t dim : placement_[*target].tensor.dim_order) order.push_back(pool_.integer(dim));
    call("dim_order_ops::_to_dim_order_copy.out",
         {from, pool_.boolean(false), pool_.int_list(order), to, to});
  }
  return {};
}

Status MethodPlanner::plan_outputs() {
  for (std::size_t i = 0; i < method_.outputs.size(); ++i) {
    if (method_.outputs[i].kind != OutputSpec::Kind::UserOutput) continue;
    const Argument& output = method_.graph->outputs()[i];
    if (output.is_value()) {
      TRY(std::int32_t index, final_index_of(*output.as_value()));
      plan_.outputs.push_back(index);
    } else {
      TRY(EValue value, literal_value(nullptr, output));
      plan_.outputs.push_back(pool_.add(value));
    }
  }
  return {};
}

Result<EValue> MethodPlanner::literal_value(const Node* node, const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::None:
      return EValue{};
    case Argument::Kind::Int:
      return EValue{.kind = EValue::Kind::Int, .int_value = argument.as_int()};
    case Argument::Kind::Bool:
      return EValue{.kind = EValue::Kind::Bool, .int_value = argument.as_bool()};
    case Argument::Kind::Float:
      return EValue{.kind = EValue::Kind::Double, .double_value = argument.as_double()};
    case Argument::Kind::String:
      plan_.strings.emplace_back(argument.as_symbol().str());
      return EValue{.kind = EValue::Kind::String,
                    .first = static_cast<std::uint32_t>(plan_.strings.size() - 1)};
    default:
      return fail(node, "an input, output or delegate argument must be a tensor, number, string or None");
  }
}

Result<std::int32_t> MethodPlanner::literal(const Node* node, const Argument& argument) {
  if (argument.is_int()) return pool_.integer(argument.as_int());
  if (argument.is_none()) return pool_.null();
  TRY(EValue value, literal_value(node, argument));
  return pool_.add(value);
}

Result<std::int32_t> MethodPlanner::index_of(const Value& value, const Node* user) {
  std::int32_t& index = index_[placement_.numbers[value]];
  if (index >= 0) return index;
  const TensorData* data = constant_data(program_, method_, value);
  if (data == nullptr) return fail(user, fmt::format("%{} has no value in the plan", value.name().str()));
  PlanTensor tensor = placement_[value].tensor;
  Name key = input_spec(method_, value)->target;
  if (!constants_.place(tensor, key, *data, value.tensor(), is_output(value))) {
    return fail(user,
                fmt::format("the dim order of constant %{} does not match its type", value.name().str()));
  }
  index = pool_.add_tensor(std::move(tensor));
  return index;
}

bool MethodPlanner::is_output(const Value& value) {
  return std::ranges::any_of(value.uses(), [](const Use& use) { return use.user()->is_return(); });
}

std::int32_t MethodPlanner::add_result(const Value& value) {
  std::int32_t& index = index_[placement_.numbers[value]];
  if (index >= 0) return index;  // a variable
  if (value.type().is_tensor()) {
    index = pool_.add_tensor(placement_[value].tensor);
  } else {
    index = pool_.add_scalar(scalar_kind(value.type().kind));
  }
  return index;
}

Status MethodPlanner::plan_node(const Node& node) {
  origin_ = &node;
  switch (placement_.actions[node.id()]) {
    case NodeAction::Alias: {
      const Value& base = *node.operand(0);
      if (placement_[base].kind == PlaceKind::Constant) {
        TRY(std::int32_t index, index_of(base, &node));
        PlanTensor tensor = placement_[*node.result()].tensor;
        const PlanTensor& seen = plan_.tensors[plan_.values[static_cast<std::size_t>(index)].first];
        constants_.place_view(tensor, seen, is_output(*node.result()));
        index_[placement_.numbers[*node.result()]] = pool_.add_tensor(std::move(tensor));
        return {};
      }
      for (const Value* result : node.results()) add_result(*result);
      return {};
    }
    case NodeAction::Resize:
      return plan_resize(node);
    case NodeAction::Call:
      break;
  }
  if (is_delegate_call(node)) return plan_delegate(node);
  const OpDef* def = node.def();
  if (def != nullptr && def->is(OpFlag::Assertion)) return {};
  if (node.op() == "aten.index_copy.default") return plan_index_copy(node);
  if (def != nullptr && def->is(OpFlag::Symbolic)) {
    TRY(bool is_planned, plan_symbolic(node));
    if (is_planned) return {};
  }
  if (def != nullptr && !def->out_name.empty()) return plan_kernel_call(node, *def);
  TRY(bool is_planned, plan_control(node));
  if (is_planned) return {};
  return has_no_kernel(node);
}

Result<std::int32_t> MethodPlanner::delegate_index(std::uint32_t number) {
  const Delegate& called = *program_.delegates[number];
  auto [entry, is_new] =
      delegates_.try_emplace(called.name, static_cast<std::int32_t>(plan_.delegates.size()));
  if (!is_new) return entry->second;
  if (const auto equal = equal_delegates_.find_or_add(number))
    return entry->second = delegates_.at(program_.delegates[*equal]->name);
  TRY_STATUS(check_target_device(called));
  PlanDelegate delegate{called.backend_id, {}, false, number};
  for (const CompileSpec& spec : called.compile_specs) {
    delegate.compile_specs.emplace_back(spec.key, spec.value);
  }
  plan_.delegates.push_back(std::move(delegate));
  return entry->second;
}

Status MethodPlanner::plan_delegate(const Node& node) {
  const auto number = delegate_index_.number_of(node);
  CHECK(number.has_value()) << called_delegate(node).str();
  TRY(const std::int32_t delegate, delegate_index(*number));
  std::vector<std::int32_t> args;
  for (const Argument& argument : node.args().subspan(1)) {
    if (argument.is_value()) {
      TRY(std::int32_t index, index_of(*argument.as_value(), &node));
      args.push_back(index);
    } else {
      TRY(std::int32_t index, literal(&node, argument));
      args.push_back(index);
    }
  }
  for (const Value* result : node.results()) args.push_back(add_result(*result));
  add_instruction(Instruction::Kind::DelegateCall, delegate, args);
  if (plan_.delegates[static_cast<std::size_t>(delegate)].index != *number)
    plan_.stood_for.emplace(plan_.instructions.size() - 1, *number);
  return {};
}

Status MethodPlanner::plan_resize(const Node& node) {
  TRY(std::int32_t base, index_of(*node.operand(0), &node));
  TRY(std::int32_t sizes, resize_sizes(node));
  call("executorch_prim::et_view.default", {base, sizes, add_result(*node.result())});
  return {};
}

// Returns the sizes of a view as a list of Ints. A single dynamic size is left to the runtime (-1) if no
// other size can be 0. Otherwise each dynamic size must be an argument of the node or a size of its operand.
Result<std::int32_t> MethodPlanner::resize_sizes(const Node& node) {
  const TensorType& type = node.result()->tensor();
  const Value& base = *node.operand(0);
  TRY(std::int32_t base_index, index_of(base, &node));
  auto varying = std::ranges::count_if(type.sizes, [](const SymInt& size) { return !size.is_constant(); });
  bool has_zero = std::ranges::any_of(type.sizes, [](const SymInt& size) { return size == 0; });
  std::span<const Argument> given;  // of aten.view.default(self, size)
  const bool has_sizes = node.def()->view_kind == ViewKind::Reshape && node.args().size() > 1;
  if (has_sizes && node.arg(1).is_list() && node.arg(1).as_list().size() == type.rank()) {
    given = node.arg(1).as_list();
  }
  bool is_inferred = false;
  auto index_of_size = [&](std::size_t dim) -> Result<std::int32_t> {
    const SymInt& size = type.sizes[dim];
    if (size.is_constant()) return pool_.integer(size.value());
    if (varying == 1 && !has_zero) return pool_.integer(-1);
    if (!given.empty() && given[dim].is_value() && !given[dim].as_value()->type().is_tensor()) {
      return index_of(*given[dim].as_value(), &node);
    }
    const Dims& sizes = base.tensor().sizes;
    auto same = std::ranges::find(sizes, size);
    if (same != sizes.end()) return size_of(base_index, static_cast<std::size_t>(same - sizes.begin()));
    if (is_inferred || has_zero)
      return fail(&node, fmt::format("no value in the method provides the size {}", size.str()));
    is_inferred = true;
    return pool_.integer(-1);
  };
  std::vector<std::int64_t> items;
  for (std::size_t dim = 0; dim < type.rank(); ++dim) {
    TRY(std::int32_t index, index_of_size(dim));
    items.push_back(index);
  }
  return pool_.int_list(items);
}

std::int32_t MethodPlanner::size_of(std::int32_t tensor, std::size_t dim) {
  std::int32_t result = pool_.add_scalar(EValue::Kind::Int);
  call("aten::sym_size.int", {tensor, pool_.integer(static_cast<std::int64_t>(dim)), result});
  return result;
}

void MethodPlanner::call(std::string_view kernel, std::initializer_list<std::int32_t> args) {
  add_instruction(Instruction::Kind::KernelCall, operator_index(kernel),
                  std::span(args.begin(), args.size()));
}

std::int32_t MethodPlanner::operator_index(std::string_view kernel) {
  auto next = static_cast<std::int32_t>(plan_.operators.size());
  auto [entry, is_new] = operators_.try_emplace(std::string(kernel), next);
  if (is_new) {
    std::size_t dot = kernel.find('.');
    PlanOperator op{std::string(kernel.substr(0, dot)), ""};
    if (dot != kernel.npos) op.overload = kernel.substr(dot + 1);
    plan_.operators.push_back(std::move(op));
  }
  return entry->second;
}

// Adds the lines of the nodes that the next instruction is made for, each once.
void MethodPlanner::add_stack_trace() {
  std::vector<std::uint32_t> trace;
  const auto add = [&](const NodeOrigin& origin) {
    if (origin.source == nullptr || origin.source->file.empty()) return;
    const SourceLocation& source = *origin.source;
    PlanFrame frame{std::string(source.file.str()), source.line, std::string(source.function.str()),
                    std::string(source.line_text.str())};
    const std::uint32_t index = index_in(plan_.stack_traces.frames, frames_, std::move(frame));
    if (std::ranges::find(trace, index) == trace.end()) trace.push_back(index);
  };
  if (origin_ != nullptr) for_each_origin(*origin_, add);
  plan_.stack_traces.of_instructions.push_back(
      index_in(plan_.stack_traces.traces, traces_, std::move(trace)));
}

void MethodPlanner::add_instruction(Instruction::Kind kind, std::int32_t index,
                                    std::span<const std::int32_t> args) {
  begin_else_if_due();
  Instruction instruction;
  instruction.kind = kind;
  instruction.index = index;
  instruction.first_arg = static_cast<std::uint32_t>(plan_.args.size());
  instruction.arg_count = static_cast<std::uint32_t>(args.size());
  plan_.args.insert(plan_.args.end(), args.begin(), args.end());
  if (origin_ != nullptr && !origin_->replaced.empty()) {
    std::vector<std::uint32_t>& handles = plan_.replaced_handles[plan_.instructions.size()];
    for (const NodeOrigin& origin : origin_->replaced) handles.push_back(origin.debug_handle);
  }
  if (options_.stack_traces) add_stack_trace();
  plan_.instructions.push_back(instruction);
  plan_.debug_handles.push_back(origin_ == nullptr ? 0 : origin_->debug_handle);
}

}  // namespace depute::internal
