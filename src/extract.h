// A part of a program as a program of its own, to be looked at, reported or lowered alone: what a delegate
// was made from, a range of nodes, or a module.
//
//   TRY(Part part, extract_delegate(std::move(compiled.program), "xnnpack3"));
//   TRY_STATUS(write_pt2(*part.program, output));
//   TRY(NamedArrays inputs, border_values(part, sample));      // what flows into the part
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "depute/kernels.h"
#include "depute/named_arrays.h"
#include "depute/program.h"
#include "depute/registry.h"
#include "depute/result.h"

namespace depute {

struct Part {
  std::shared_ptr<const Program> program;  // one method, "forward"; ops of backends are what they stand for
  Program whole;                           // in which a delegate has the part's nodes
  Symbol delegate;
  Symbol method;  // of the whole, in which the part is
};

// Of a lowered program: a delegate by its name, or by its number in the order of the calls.
Result<Part> extract_delegate(Program lowered, std::string_view delegate);
// Of a normalised one: nodes from `first` to `last` of the method's graph, in its order.
// "[METHOD:]FIRST..LAST", or one node.
Result<Part> extract_nodes(const Program& normalised, std::string_view range, const Registry& registry);
// "[METHOD:]PATH": all nodes of the module and of those inside of it.
Result<Part> extract_module(const Program& normalised, std::string_view module, const Registry& registry);

// Each constant becomes random numbers of its own mean, deviation and limits, the same in each run; whole
// numbers are spread between their limits. Sizes, names and what is shared stay.
Result<Program> with_random_weights(const Program& program);

// What the part's inputs hold when the whole gets these inputs (interpret.h), by their names.
Result<NamedArrays> border_values(const Part& part, const NamedArrays& sample);

}  // namespace depute
