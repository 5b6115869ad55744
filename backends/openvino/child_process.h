// Work in a child process: OpenVINO names the nodes it makes by a counter of the process, so bytes are the
// same each time only when each compile is the first of its process. A crash in it ends the child alone.
//
//   run_in_children({{"forward, openvino0", [&](std::ostream& out) { return compile(program, out); }}}, jobs)
//
// The children share the parent's memory as it was when they started: nothing is copied to them, and what
// they write comes back as mapped memory.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "depute/data.h"
#include "depute/result.h"

namespace depute::openvino {

struct ChildTask {
  std::string name;  // for messages
  std::function<Status(std::ostream& out)> run;
};

// What each task wrote, in their order; at most `jobs` (at least 1) run at a time. An exception, a signal or
// an early end of a child is the failure of its task. The bytes are private to the caller.
std::vector<Result<std::shared_ptr<const Storage>>> run_in_children(const std::vector<ChildTask>& tasks,
                                                                    int jobs);
Result<std::shared_ptr<const Storage>> run_in_child(const ChildTask& task);

}  // namespace depute::openvino
