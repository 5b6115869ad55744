// Delegates that keep something between calls.
//
//   %a = delegate.call(@counter, %x)       what %b is depends on the call before it, though no value says so
//   %b = delegate.call(@counter, %x)
//
// The runtime makes one instance of a delegate for each method, and one for each delegate that it is nested
// in. So all calls of a delegate that keeps state must lie in one place, or there are several states.
#pragma once

#include <unordered_set>
#include <vector>

#include "depute/program.h"

namespace depute {

// The delegates of a program whose own program stores to buffers, or calls delegates that do. One whose own
// program is not known may do so, and is among them.
class StatefulDelegates {
 public:
  StatefulDelegates() = default;
  explicit StatefulDelegates(const Program& program);

  bool empty() const { return names_.empty(); }
  bool contains(Symbol delegate) const { return names_.contains(delegate); }
  // Those that the node calls, itself or in its bodies, each once.
  std::vector<Symbol> called_by(const Node& node) const;

 private:
  std::unordered_set<Symbol> names_;
};

// The delegate that a node calls, whatever stands for the call; empty for other nodes.
Symbol called_delegate(const Node& node);

}  // namespace depute
