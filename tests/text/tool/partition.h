// The verb "partition": what a partitioner answers for a program, as text.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Options, all of them optional:
//
//   --take add+relu      ops (or parts of their names) that the backend "mine" takes; --neutral view: where
//                        useful; --free cat: takes, but gains nothing
//   --then mul           a second backend "other" takes these
//   --groups a+b,c+d     nodes that "mine" takes together; --patterns: all methods but the first are patterns
//   --whole, --tagged    everything as one delegate; the tags that stand in the program
//   --backend xnnpack    a built-in backend's partitioner
//   --controls k=v,k=v   what every --backend has: only, off, mode, ...
//   --cost 10+1          of a launch and of a KiB; --state: mutated buffers move in, --no-constants: nothing
//   does
//   --max-values 4       arguments and results of one delegate
//   --why                why partitions of one backend are apart
//   --lower              instead of the answer, the program with delegates in the place of partitions
Result<std::string> partition_text(const Program& program,
                                   const std::map<std::string, std::string, std::less<>>& options);

}  // namespace depute
