// What the files of the Python module share: how programs are held, and how errors cross in both directions.
//
//   depute/__init__.py, graph.py, ...   the package: what users read
//   _depute                             this module: the public face (include/depute/), one bind_TOPIC.cpp a
//   topic
//
// A program that Python has seen is never edited, and a node of Python is a copy that points to nothing here:
// no order in which Python drops its objects can leave one of them dangling.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "depute/compiler.h"
#include "depute/program.h"
#include "depute/result.h"
#include "depute/worker.h"

namespace depute::python {

namespace nb = nanobind;

struct ProgramHandle {
  std::shared_ptr<const Program> program;
};

// A delegate of a program, which it keeps alive.
struct DelegateHandle {
  std::shared_ptr<const Program> program;  // null when it stands alone
  std::shared_ptr<const Delegate> delegate;
};

// KeyError when there is none.
const Method& method_of(const ProgramHandle& handle, const std::string& name);

inline ProgramHandle hold(Program program) {
  return {std::make_shared<const Program>(std::move(program))};
}

// The diagnostic as depute.Error. Needs the GIL, as all that follows.
[[noreturn]] void raise(const Diagnostic& diagnostic);

template <typename T>
T take(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}
inline void take(const Status& status) {
  if (!status) raise(status.error());
}

// The first exception that Python raised below one call of the compiler. It leaves the call as it was raised,
// with its traceback, and a note that tells where the compiler was.
class Raised {
 public:
  std::string keep(nb::python_error& error);            // and gives its text
  void rethrow_or_raise(const Diagnostic& diagnostic);  // the diagnostic, when Python raised nothing

 private:
  std::mutex mutex_;
  std::optional<nb::python_error> first_;
};

template <typename T>
T take(Result<T> result, Raised& raised) {
  if (!result) {
    raised.rethrow_or_raise(result.error());
  }
  return std::move(*result);
}

// What native code asks Python: takes the GIL, and turns what is raised into a Diagnostic on its way out.
template <typename Function>
auto ask_python(Raised& raised, Function&& function) -> Result<decltype(function())> {
  nb::gil_scoped_acquire acquire;
  try {
    return function();
  } catch (nb::python_error& error) {
    return failure("python", "", raised.keep(error));
  } catch (const std::exception& exception) {
    return failure("python", "", exception.what());
  }
}

// An object of Python inside of an object that threads without the GIL may copy and destroy.
using SharedObject = std::shared_ptr<nb::object>;
SharedObject share(nb::object object);

// The program as Python reads it: graph.py's Graphs of a method, its own first, then its bodies.
nb::list read_method(const Program& program, const Method& method);
// A node alone: its operands have a name, a target and a value, and no operands of their own.
nb::object read_node(const Node& node);

using NamedBytes = std::pair<std::string, nb::bytes>;
std::vector<NamedBytes> compile_specs_of(const std::vector<CompileSpec>& specs);
std::vector<CompileSpec> compile_specs_of(const std::vector<NamedBytes>& specs);
nb::bytes bytes_of(std::span<const std::byte> bytes);
std::vector<std::byte> bytes_of(const nb::bytes& bytes);
// A dense tensor of these bytes; ValueError when there is no such type, or the bytes are not as many.
TensorData make_tensor_data(const std::string& dtype, const std::vector<std::int64_t>& shape,
                            const nb::bytes& bytes);

// A whole PreprocessResult as plain objects, and back: bytes, debug handles, named data with their layouts,
// text, padding.
nb::tuple rows_of(const PreprocessResult& result);
PreprocessResult result_of_rows(const nb::object& rows);

// A backend whose partitions go to `run`, which gives rows: run(id, backend or None, [(method, partitions)]).
std::unique_ptr<Backend> executor_backend(const std::string& id, nb::object run, nb::object backend,
                                          std::shared_ptr<Raised> raised);
// Python's own preprocess_multimethod cannot be divided.
bool has_own_multimethod(const nb::object& backend);

// Python's backends (subclasses of BackendDetails) and partitioners, as the compiler sees them.
std::unique_ptr<Backend> python_backend(const std::string& id, nb::object backend,
                                        std::shared_ptr<Raised> raised);
std::unique_ptr<Partitioner> python_partitioner(const std::string& name, nb::object partitioner,
                                                std::shared_ptr<Raised> raised);

// What depute.worker_backend() gives: a compiler that has the worker beside what is built in, and so its
// process.
struct WorkerHandle {
  std::shared_ptr<const Compiler> compiler;
  std::string name;
  std::string program;
  WorkerOptions options;

  const BackendEntry& entry() const { return *compiler->registry().find(name); }
};
// An entry that asks the worker, for the registry of a call.
BackendEntry entry_of(const WorkerHandle& worker);

void bind_data(nb::module_& module);
void bind_program(nb::module_& module);
void bind_exported(nb::module_& module);
void bind_verify(nb::module_& module);
void bind_backend(nb::module_& module);
void bind_compiler(nb::module_& module);
void bind_report(nb::module_& module);
void bind_ledger(nb::module_& module);
void bind_worker(nb::module_& module);

}  // namespace depute::python
