#include "ir/sym/narrow_ranges.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "depute/program/walk.h"
#include "support/try.h"

namespace depute {
namespace {

using Names = std::set<std::string, std::less<>>;

void add_symbols(const Value& value, Names& names) {
  const Type& type = value.type();
  if (type.kind == Type::Kind::SymInt && type.expr != nullptr) {
    for (Name symbol : symbols_of(type.expr)) names.emplace(symbol.str());
  }
  if (!type.is_tensor()) return;
  for (const SymInt& size : value.tensor().sizes) {
    if (size.is_constant()) continue;
    for (Name symbol : symbols_of(size.expr())) names.emplace(symbol.str());
  }
}

// Returns the symbols in all sizes and integers.
Names symbols_of(const Program& program) {
  Names names;
  for (const auto& method : program.methods) {
    for (const Graph* graph : graphs_of(*method)) {
      for (const Value* input : graph->inputs()) add_symbols(*input, names);
      for (const Node& node : graph->nodes()) {
        for (const Value* result : node.results()) add_symbols(*result, names);
      }
    }
  }
  return names;
}

std::string str(const Range& range) {
  std::string max = range.max == Range::max_bound ? "" : fmt::format("{}", range.max);
  return fmt::format("{}..{}", std::max<std::int64_t>(range.min, 0), max);
}

Failure wrong_bound(const std::string& symbol, const Range& given, std::string_view message,
                    std::string_view hint = {}) {
  return failure("bound", fmt::format("{}={}", symbol, str(given)), message, hint);
}

}  // namespace

Status narrow_ranges(Program& program, const Ranges& bounds) {
  if (bounds.empty()) return {};
  const Names names = symbols_of(program);
  for (const auto& [symbol, given] : bounds) {
    if (!names.contains(symbol)) {
      return wrong_bound(symbol, given, fmt::format("the program has no symbol '{}'", symbol),
                         names.empty() ? "all of its sizes are fixed"
                                       : fmt::format("its sizes have {}", fmt::join(names, ", ")));
    }
    Range& range = program.ranges[symbol];
    if (given.max > range.max) {
      return wrong_bound(symbol, given, fmt::format("the program was exported for {}", str(range)),
                         "export it for a larger range");
    }
    const Range both = {std::max(range.min, given.min), given.max};
    if (both.min > both.max)
      return wrong_bound(symbol, given, fmt::format("the program was exported for {}", str(range)));
    range = both;
  }
  return {};
}

}  // namespace depute
