#include "ir/delegate_state.h"

#include <algorithm>

#include "depute/program/walk.h"

namespace depute {
namespace {

bool keeps_state(const Program& program) {
  for (const auto& method : program.methods) {
    if (std::ranges::any_of(method->outputs, &OutputSpec::mutates_data)) return true;
  }
  return !StatefulDelegates(program).empty();
}

}  // namespace

StatefulDelegates::StatefulDelegates(const Program& program) {
  for (const auto& delegate : program.delegates) {
    if (delegate->original == nullptr || keeps_state(*delegate->original)) names_.insert(delegate->name);
  }
}

std::vector<Name> StatefulDelegates::called_by(const Node& node) const {
  std::vector<Name> called;
  if (empty()) return called;
  auto look = [&](const Node& each) {
    Name name = called_delegate(each);
    if (contains(name) && std::ranges::find(called, name) == called.end()) called.push_back(name);
  };
  look(node);
  for (const Graph* graph : graphs_below(node)) {
    for (const Node& inner : graph->nodes()) look(inner);
  }
  return called;
}

Name called_delegate(const Node& node) {
  bool is_call = !node.args().empty() && node.arg(0).kind == Argument::Kind::Delegate;
  return is_call ? node.arg(0).as_symbol() : Name();
}

}  // namespace depute
