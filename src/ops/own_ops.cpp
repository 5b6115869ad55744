#include "ops/own_ops.h"

#include <fmt/format.h>

#include "ops/control/control_flow.h"
#include "ops/op_table.h"
#include "ops/schema.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr const char* delegate_call_schema = "delegate.call(Any delegate) -> ()";
constexpr const char* masked_schema = "depute.masked() -> ()";
constexpr const char* masked_effect_schema = "depute.masked_effect() -> ()";

Failure broken_call(std::string message) {
  return failure("delegate.call", "", message);
}

Status check_arguments(const Node& call, const Method& inner) {
  const std::span<const Argument> given = call.args().subspan(1);
  std::size_t next = 0;
  for (const Value* input : inner.graph->inputs()) {
    if (inner.inputs[input->index()].has_data()) continue;
    if (next < given.size() && !fits_type(given[next], input->type())) {
      return broken_call(fmt::format("argument {} must be {}, the type of the delegate's input", next + 1,
                                     str(input->type())));
    }
    ++next;
  }
  if (next == given.size()) return {};
  return broken_call(fmt::format("got {} arguments; the delegate takes {}", given.size(), next));
}

Status check_results(const Node& call, const Method& inner) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < inner.outputs.size(); ++i) {
    const Argument& output = inner.graph->outputs()[i];
    if (inner.outputs[i].mutates_data() || !output.is_value()) continue;
    if (next < call.results().size() && !fits_type(output, call.result(next)->type())) {
      return broken_call(fmt::format("result {} is {}, but the delegate returns {}", next,
                                     str(call.result(next)->type()), str(output.as_value()->type())));
    }
    ++next;
  }
  if (next == call.results().size()) return {};
  return broken_call(fmt::format("got {} results; the delegate returns {}", call.results().size(), next));
}

}  // namespace

namespace internal {

std::span<const OpLine> own_ops() {
  static constexpr OpLine lines[] = {{delegate_call_schema, own_op(Variadic)},
                                     {masked_schema, own_op(Variadic)},
                                     {masked_effect_schema, own_op(Variadic | Random)}};
  return lines;
}

}  // namespace internal

Name delegate_call_symbol() {
  static const Name symbol(internal::schema_name(delegate_call_schema));
  return symbol;
}

bool is_delegate_call(const Node& node) {
  return node.op() == delegate_call_symbol();
}

Name masked_symbol(bool has_effects) {
  static const Name symbol(internal::schema_name(masked_schema));
  static const Name with_effects(internal::schema_name(masked_effect_schema));
  return has_effects ? with_effects : symbol;
}

bool is_masked(const Node& node) {
  return node.op() == masked_symbol(false) || node.op() == masked_symbol(true);
}

Status check_delegate_call(const Node& call, const Delegate& delegate) {
  if (!call.kwargs().empty()) return broken_call("a delegate call must not have keyword arguments");
  if (delegate.original == nullptr) return {};
  const Method& inner = *delegate.original->methods.front();
  TRY_STATUS(check_arguments(call, inner));
  return check_results(call, inner);
}

}  // namespace depute
