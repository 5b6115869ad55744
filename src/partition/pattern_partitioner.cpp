#include "depute/backend/pattern_partitioner.h"

#include <string>

#include "ir/walk.h"

namespace depute {

Result<Proposal> PatternPartitioner::propose(const Program&, const Method& method) const {
  Proposal proposal{.support = {}, .options = options_};
  for (const Graph* graph : graphs_of(method)) {
    for (PatternMatch& match : find_matches(method, *graph, patterns_)) {
      if (accept_ && !accept_(patterns_[match.pattern], match)) continue;
      proposal.options.groups.push_back(std::move(match.nodes));
    }
  }
  std::string names;
  for (const Pattern& pattern : patterns_) {
    if (!names.empty()) names += ", ";
    names += pattern.name().str();
  }
  proposal.support = [names = std::move(names)](const Node& node) {
    return refuse("pattern", node.op().str(), names);
  };
  return proposal;
}

}  // namespace depute
