// Checks that the calls of a stateful delegate of an earlier lowering stay together:
//
//   %a = delegate.call(@counter, %x) !t0      rejected: @counter in t0 would have a state of its own
//   %b = delegate.call(@counter, %x)
//
// All calls of such a delegate go to one partition, or all stay.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/delegate_state.h"
#include "lower/carve.h"

namespace depute {

class StateOwners {
 public:
  explicit StateOwners(const StatefulDelegates& stateful) : stateful_(stateful) {}

  // Records the calls that stay, then those in partitions. `carved` must live until check().
  void add(const CarvedMethod& carved);
  Status check() const;

 private:
  struct Call {
    const Node* node;
    Name method;
    const CarvedPartition* partition;  // null: the call stays
  };

  void add(const Graph& graph, Name method, const CarvedPartition* partition);
  static std::string text(const Call& call);
  static Failure split(Name delegate, const std::vector<Call>& calls);

  const StatefulDelegates& stateful_;
  std::map<Name, std::vector<Call>, SymbolTextLess> calls_;  // by delegate
};

}  // namespace depute
