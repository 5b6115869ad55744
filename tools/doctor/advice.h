// Advice for a better partitioning: changed options, or nodes that the backend should take. Each change is
// evaluated by partitioning again.
//
//   set layer_norm=true (--backend xnnpack:layer_norm=true)       5 -> 1 delegates, 98 -> 100 %
//   write aten.tan.default in a way that xnnpack takes            2 -> 1 delegates, 75 -> 100 %
//
// If one source line has several rejected ops, replacing only one of them gains little. The advice then also
// reports the gain of replacing all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "depute/compiler/compiler.h"
#include "depute/tools/report.h"

namespace depute {

// Advice is skipped for programs with more nodes, which take about a second per change.
inline constexpr std::size_t max_advised_nodes = 100'000;
// Changes tried per kind; those that concern the most nodes come first.
inline constexpr std::size_t max_tried = 8;

// Upper bound tried for sizes without a bound or with a larger one.
inline constexpr std::int64_t tried_bound = 2048;

// Adds the changes that gain something to the report's page, largest gain first. `report` must be the report
// of lowering `exported` with `options`, and have a page.
void add_advice(Report& report, const Compiler& compiler, const Exported& exported,
                const LowerOptions& options);

}  // namespace depute
