// PatternPartitioner: takes the matches of patterns (pattern.h), each as a whole or not at all.
//
//   DEPUTE_TRY(auto patterns, parse_patterns(text));
//   PatternPartitioner partitioner(std::move(patterns), {.owner = "mine", .spec = {"MyBackend", {}}});
//
// Neighboring matches share a region; with RegionMode::Apart each match is a separate partition. Control-flow
// bodies are searched, too. Nodes outside all matches are rejected with the rule "pattern".
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "depute/backend/find_matches.h"
#include "depute/backend/proposing_partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

class PatternPartitioner : public ProposingPartitioner {
 public:
  // Returns false to reject a match for reasons that a pattern cannot express.
  using Accept = std::function<bool(const Pattern& pattern, const PatternMatch& match)>;

  PatternPartitioner(std::vector<Pattern> patterns, ProposeOptions options, Accept accept = {})
      : patterns_(std::move(patterns)), options_(std::move(options)), accept_(std::move(accept)) {}

 protected:
  Result<Proposal> propose(const Program& program, const Method& method) const override;

 private:
  std::vector<Pattern> patterns_;
  ProposeOptions options_;
  Accept accept_;
};

}  // namespace depute

#pragma GCC visibility pop
