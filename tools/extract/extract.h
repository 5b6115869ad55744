// Extracts a part of a program as a separate program, to inspect, report or lower it alone: the subprogram of
// a delegate, a range of nodes, or a module.
//
//   TRY(Part part, extract_delegate(std::move(compiled.program), "xnnpack3"));
//   TRY_STATUS(write_pt2(*part.program, output));
//   TRY(NamedArrays inputs, border_values(part, sample));      // the values that the part reads
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "depute/backend/registry.h"
#include "depute/program/data.h"
#include "depute/program/interpret.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

struct Part {
  std::shared_ptr<const Program> program;  // one method, "forward"; backend ops are expanded
  Program whole;                           // whole program, in which a delegate has the part's nodes
  Name delegate;
  Name method;  // method of `whole` that calls the delegate
};

// Extracts a delegate of a lowered program, by name or by its index in call order. Fails if there is none.
Result<Part> extract_delegate(Program lowered, std::string_view delegate);
// Extracts the nodes from `first` to `last` of a normalized program, in graph order. `range` is
// "[METHOD:]FIRST..LAST" or a single node. Fails if a node does not exist or the part would depend on itself.
Result<Part> extract_nodes(const Program& normalized, std::string_view range, const Registry& registry);
// Extracts all nodes of a module and its submodules; `module` is "[METHOD:]PATH".
Result<Part> extract_module(const Program& normalized, std::string_view module, const Registry& registry);

// Replaces each constant by random numbers with the same mean, deviation and limits; integers are uniform
// between their limits. The numbers are the same in each run. Sizes, names and sharing do not change.
Result<Program> with_random_weights(const Program& program);

// Returns the contents of the part's inputs, by name, when the whole program runs with `sample`
// (interpret.h).
Result<NamedArrays> border_values(const Part& part, const NamedArrays& sample);

}  // namespace depute
