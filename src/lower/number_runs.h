// A list of ascending numbers in JSON, in which [first, last] means all numbers from `first` to `last`.
//
//   0, 2, 3, 4, 9, 10  ->  [0, [2, 4], 9, 10]
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "read/read_fields.h"

namespace depute {

struct NumberRuns {
  using Run = std::pair<std::int64_t, std::int64_t>;  // first and last number

  std::vector<Run> runs;

  void add(std::int64_t number) {
    if (!runs.empty() && runs.back().second + 1 == number) {
      runs.back().second = number;
    } else {
      runs.emplace_back(number, number);
    }
  }
};

// Two consecutive numbers are no shorter as a run.
inline JsonValue json_of(const NumberRuns& numbers) {
  JsonValue list = JsonValue::array();
  for (const auto& [first, last] : numbers.runs) {
    if (last - first >= 2) {
      list.push_back(JsonValue::array({first, last}));
      continue;
    }
    list.push_back(first);
    if (last > first) list.push_back(last);
  }
  return list;
}

// Does not expand the runs: that they are sound must be checked first.
inline Status read_leaf(const Json& json, NumberRuns& numbers) {
  return json.for_each([&](const Json& element) -> Status {
    auto& [first, last] = numbers.runs.emplace_back();
    if (element.is_list()) return read_pair(element, numbers.runs.back());
    TRY(first, element.integer());
    last = first;
    return {};
  });
}

}  // namespace depute
