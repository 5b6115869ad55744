// Runs work in a child process. OpenVINO numbers the nodes it creates in a process, so bytes are reproducible
// only if each compile is the first of its process. A crash ends only the child.
//
//   run_in_children({{"forward, openvino0", [&](std::ostream& out) { return compile(program, out); }}}, jobs)
//
// The children share the parent's memory as of their start, without a copy. Their output is mapped memory.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "depute/program/data.h"
#include "depute/program/result.h"

namespace depute::openvino {

struct ChildTask {
  std::string name;  // for messages
  std::function<Status(std::ostream& out)> run;
};

// Returns the output of each task, in order. At most `jobs` (at least 1) run at a time. An exception, a
// signal or an early exit is a failure of the task. The bytes are private to the caller.
std::vector<Result<std::shared_ptr<const Storage>>> run_in_children(const std::vector<ChildTask>& tasks,
                                                                    int jobs);
Result<std::shared_ptr<const Storage>> run_in_child(const ChildTask& task);

}  // namespace depute::openvino
