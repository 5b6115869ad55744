#include "plan/maker.h"

#include "ops/own_ops.h"

namespace depute {
namespace {

// Returns the value that a delegate computes for this result of its call. Mutations and literals among its
// outputs are not results of the call.
const Value* computed_output(const Delegate& delegate, std::uint32_t result) {
  const Method& method = *delegate.original->methods.at(0);
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    const Argument& output = method.graph->outputs()[i];
    if (method.outputs[i].mutates_data() || !output.is_value()) continue;
    if (result-- == 0) return output.as_value();
  }
  return nullptr;
}

}  // namespace

const Node* maker_of(const Program& program, const Value& value) {
  const Node* producer = value.producer();
  if (producer == nullptr || !is_delegate_call(*producer)) return producer;
  const Delegate* delegate = program.find_delegate(producer->arg(0).as_symbol());
  if (delegate == nullptr || delegate->original == nullptr) return nullptr;
  const Value* computed = computed_output(*delegate, value.index());
  return computed == nullptr ? nullptr : maker_of(*delegate->original, *computed);
}

}  // namespace depute
