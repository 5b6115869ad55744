// A child writes into anonymous memory (memfd), which the parent maps when the child has exited. The exit
// code says whether it is a result or a diagnostic, whose fields are separated by zeros:
//
//   exit 0   the bytes that the task wrote
//   exit 1   "openvino" 0 "node %add" 0 "no conversion rule" 0 "" 0 "model.py:12"
#include "child_process.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

#include "depute/compiler/exported_model.h"

namespace depute::openvino {
namespace {

constexpr int exit_result = 0;
constexpr int exit_diagnostic = 1;

using Bytes = std::shared_ptr<const Storage>;

// Memory of a child's output. It is unmapped with the last storage that refers to it.
struct Mapping {
  explicit Mapping(int file) {
    struct stat status = {};
    if (fstat(file, &status) != 0 || status.st_size == 0) return;
    size = static_cast<std::size_t>(status.st_size);
    void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED) return;
    data = static_cast<const std::byte*>(mapped);
  }
  ~Mapping() {
    if (data != nullptr) munmap(const_cast<std::byte*>(data), size);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const { return {data, data == nullptr ? 0 : size}; }

  const std::byte* data = nullptr;
  std::size_t size = 0;
};

// The fields of a diagnostic in their order in the child's output.
std::array<std::string Diagnostic::*, 5> fields() {
  return {&Diagnostic::code, &Diagnostic::where, &Diagnostic::message, &Diagnostic::hint,
          &Diagnostic::source};
}

Failure failure_of(std::span<const std::byte> bytes, const std::string& task) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Diagnostic diagnostic;
  for (auto field : fields()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    diagnostic.*field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (diagnostic.message.empty()) return failure("openvino", task, "the child process wrote no result");
  return Failure(std::move(diagnostic));
}

// Runs the task and converts exceptions of OpenVINO and of the task to failures.
Status run_guarded(const ChildTask& task, std::ostream& out) {
  try {
    return task.run(out);
  } catch (const std::exception& error) {
    return failure("openvino", task.name, error.what());
  } catch (...) {
    return failure("openvino", task.name, "an exception without a message");
  }
}

[[noreturn]] void be_child(const ChildTask& task, int file, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(exit_diagnostic);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  Status status;
  {
    std::ofstream out(path, std::ios::binary);
    status = run_guarded(task, out);
    out.flush();
    if (status && !out) status = failure("openvino", task.name, "out of memory for the result");
  }
  if (status) _exit(exit_result);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  for (auto field : fields()) out << status.error().*field << '\0';
  out.close();
  _exit(exit_diagnostic);
}

struct Child {
  pid_t process = -1;
  int file = -1;
};

Result<Child> start(const ChildTask& task) {
  Child child;
  child.file = memfd_create("depute-openvino", MFD_CLOEXEC);
  if (child.file < 0)
    return failure(
        "openvino", task.name,
        std::string("cannot allocate memory for the result of the child process: ") + strerror(errno));
  const pid_t parent = getpid();
  child.process = fork();
  if (child.process == 0) be_child(task, child.file, parent);
  if (child.process > 0) return child;
  const int error = errno;
  close(child.file);
  return failure("openvino", task.name, std::string("no child process: ") + strerror(error));
}

Result<Bytes> finish(const ChildTask& task, const Child& child) {
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  auto mapping = std::make_shared<const Mapping>(child.file);
  close(child.file);
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return failure("openvino", task.name,
                   std::string("the OpenVINO process was killed by SIG") + (name == nullptr ? "?" : name));
  }
  if (WEXITSTATUS(status) == exit_diagnostic) return failure_of(mapping->bytes(), task.name);
  if (WEXITSTATUS(status) != exit_result)
    return failure("openvino", task.name,
                   "the OpenVINO process exited with code " + std::to_string(WEXITSTATUS(status)));
  return borrowed_storage(mapping->bytes(), mapping);
}

}  // namespace

std::vector<Result<Bytes>> run_in_children(const std::vector<ChildTask>& tasks, int jobs) {
  std::vector<Result<Bytes>> results;
  std::vector<Result<Child>> children;
  const std::size_t at_once = static_cast<std::size_t>(std::max(jobs, 1));
  while (results.size() < tasks.size()) {
    while (children.size() < std::min(tasks.size(), results.size() + at_once))
      children.push_back(start(tasks[children.size()]));
    const std::size_t next = results.size();
    if (children[next]) {
      results.push_back(finish(tasks[next], *children[next]));
    } else {
      results.push_back(Failure(std::move(children[next]).error()));
    }
  }
  return results;
}

Result<Bytes> run_in_child(const ChildTask& task) {
  return std::move(run_in_children({task}, 1).front());
}

}  // namespace depute::openvino
