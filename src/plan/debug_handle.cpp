#include "plan/debug_handle.h"

namespace depute {

std::uint32_t debug_handle_of(const Program& program, const Value& value) {
  const Node* producer = value.producer();
  if (producer == nullptr) return 0;
  if (producer->op() != "delegate.call") return producer->debug_handle;
  const Delegate* delegate = program.find_delegate(producer->arg(0).as_symbol());
  if (delegate == nullptr || delegate->original == nullptr) return 0;
  const auto outputs = delegate->original->methods.at(0)->graph->outputs();
  bool is_known = value.index() < outputs.size() && outputs[value.index()].is_value();
  return is_known ? debug_handle_of(*delegate->original, *outputs[value.index()].as_value()) : 0;
}

}  // namespace depute
