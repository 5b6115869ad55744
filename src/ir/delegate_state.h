// Detects delegates with state between calls.
//
//   %a = delegate.call(@counter, %x)
//   %b = delegate.call(@counter, %x)       depends on the first call, although no value connects them
//
// The runtime instantiates a delegate once for each method and for each delegate that contains it. All calls
// of a stateful delegate must therefore be in the same place, or each place has its own state.
#pragma once

#include <unordered_set>
#include <vector>

#include "depute/program/program.h"

namespace depute {

// Delegates whose original subprogram mutates buffers or calls such delegates. A delegate without its
// original subprogram counts as stateful.
class StatefulDelegates {
 public:
  StatefulDelegates() = default;
  explicit StatefulDelegates(const Program& program);

  bool empty() const { return names_.empty(); }
  bool contains(Name delegate) const { return names_.contains(delegate); }
  // Returns the stateful delegates that the node calls itself or in its bodies, each once.
  std::vector<Name> called_by(const Node& node) const;

 private:
  std::unordered_set<Name> names_;
};

// Returns the delegate that a node calls, whatever its op; empty for other nodes.
Name called_delegate(const Node& node);

}  // namespace depute
