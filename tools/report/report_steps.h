// Completes the report of a lowered program while compile() plans and writes it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "depute/tools/report.h"

namespace depute {

// Reports the nodes before partitioning and what the backends said about them.
Report report_nodes(const Delegated& delegated, ReportParts parts);
// Adds the delegates of the program.
void add_delegates(Report& report, const Program& lowered);
// Lists the planner's refusals. Sets the owner of nodes without a runtime kernel to "no-kernel", and of other
// rejected nodes to "refused". A node that was decomposed after the backends were asked counts as rejected if
// one of its parts is.
void add_refusals(Report& report, const Program& lowered, const std::vector<Refusal>& refusals);
// Adds the planned memory.
void add_plan(Report& report, const Executable& executable);
// Adds the written file. `pte` has its bytes, which the page needs.
void add_output(Report& report, const Executable& executable, const PteFile& file,
                std::span<const std::byte> pte, const Registry& registry);

}  // namespace depute
