// Delegates that are the same to the runtime, shown together where many repeat one: "xnnpack1 x 31".
//
//   Repeats repeats(report);
//   repeats.times(xnnpack1)      // 31
//   repeats.shown_as(xnnpack7)   // xnnpack1
//
// A drawing shows one box for them, unless a path leaves the box and comes back: drawn_repeats().
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "depute/tools/report.h"
#include "tools/report/page_facts.h"

namespace depute {

inline constexpr std::size_t min_folded_repeats = 4;

class Repeats {
 public:
  explicit Repeats(const Report& report);

  // The delegate that `delegate` repeats, if enough do; else itself.
  Name shown_as(Name delegate) const;
  // The number of delegates that are shown as this one, and the last of them.
  std::size_t times(Name delegate) const;
  Name last(Name delegate) const;
  // "xnnpack1 x 31, xnnpack3 x 16 and 2 more", most repeated first; empty without repeats.
  std::string text() const;

 private:
  struct Fold {
    Name first;
    Name last;
    std::size_t times = 0;
  };
  const Fold* find(Name delegate) const;

  std::vector<Fold> folds_;
  std::unordered_map<Name, std::size_t> fold_of_;  // of each delegate that is folded
};

// Delegates in a row that are apart for one reason, each from the one after it.
struct SplitRun {
  Name first;
  Name last;
  std::size_t pairs = 0;
  std::string text;
};
std::vector<SplitRun> split_runs(const std::vector<Split>& pairs);

// By delegate, as numbered in Report::delegates: the one in whose box it is drawn. Its own number if it is
// not folded. The report needs its page facts.
std::vector<std::size_t> drawn_repeats(const Report& report);

}  // namespace depute
