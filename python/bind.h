// Shared by the files of the Python module: handles to programs, and conversion of errors in both directions.
//
//   depute/__init__.py, graph.py, ...   the package that users import
//   _depute                             this module, over include/depute/: one bind_TOPIC.cpp per topic
//
// A program that Python has seen is never edited. Python nodes are copies without pointers into the program,
// so they cannot dangle, in whatever order Python releases objects.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "depute/compiler/compiler.h"
#include "depute/compiler/worker.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute::python {

namespace nb = nanobind;

struct ProgramHandle {
  std::shared_ptr<const Program> program;
};

// A delegate, and the program that contains it, which is kept alive.
struct DelegateHandle {
  std::shared_ptr<const Program> program;  // null for a standalone delegate
  std::shared_ptr<const Delegate> delegate;
};

// Raises KeyError if there is no such method.
const Method& method_of(const ProgramHandle& handle, const std::string& name);

inline ProgramHandle hold(Program program) {
  return {std::make_shared<const Program>(std::move(program))};
}
inline ProgramHandle hold(const Stage& stage) {
  return {stage.shared_program()};
}

// Raises the diagnostic as depute.Error. This and the following functions need the GIL.
[[noreturn]] void raise(const Diagnostic& diagnostic);

template <typename T>
T take(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}
inline void take(const Status& status) {
  if (!status) raise(status.error());
}

// The first Python exception during one call of the compiler. It is rethrown at the end of the call with its
// traceback, and with a note about the compiler's step.
class Raised {
 public:
  std::string keep(nb::python_error& error);            // returns the exception's text
  void rethrow_or_raise(const Diagnostic& diagnostic);  // raises the diagnostic if Python raised nothing

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

// Runs a function that calls Python: acquires the GIL and converts exceptions to a Diagnostic.
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

// A Python object that threads without the GIL may copy and destroy.
using SharedObject = std::shared_ptr<nb::object>;
SharedObject share(nb::object object);

// Returns graph.py's Graphs of a method: its own first, then its bodies.
nb::list read_method(const Program& program, const Method& method);
// Returns a single node. Its operands have a name, a target and a value, but no operands.
nb::object read_node(const Node& node);

using NamedBytes = std::pair<std::string, nb::bytes>;
std::vector<NamedBytes> compile_specs_of(const std::vector<CompileSpec>& specs);
std::vector<CompileSpec> compile_specs_of(const std::vector<NamedBytes>& specs);
nb::bytes bytes_of(std::span<const std::byte> bytes);
std::vector<std::byte> bytes_of(const nb::bytes& bytes);
// Creates a dense tensor from bytes. Raises ValueError for an unknown type or a wrong number of bytes.
TensorData make_tensor_data(const std::string& dtype, const std::vector<std::int64_t>& shape,
                            const nb::bytes& bytes);

// Converts a PreprocessResult to plain objects and back: bytes, debug handles, named data with their layouts,
// text, padding.
nb::tuple rows_of(const PreprocessResult& result);
PreprocessResult result_of_rows(const nb::object& rows);

// Returns a backend that sends its partitions to `run(id, backend or None, [(method, partitions)])`.
std::unique_ptr<Backend> executor_backend(const std::string& id, nb::object run, nb::object backend,
                                          std::shared_ptr<Raised> raised);
// True if a Python backend overrides preprocess_multimethod: its partitions cannot be divided.
bool has_own_multimethod(const nb::object& backend);

// Wrap Python backends (subclasses of BackendDetails) and partitioners for the compiler.
std::unique_ptr<Backend> python_backend(const std::string& id, nb::object backend,
                                        std::shared_ptr<Raised> raised);
std::unique_ptr<Partitioner> python_partitioner(const std::string& name, nb::object partitioner,
                                                std::shared_ptr<Raised> raised);

// Options with a planner in Python (depute/planning.py), or null.
struct PythonOptions {
  WriteOptions options;
  SharedObject planner;

  // Returns the options for one call of the compiler, which rethrows what the planner raises.
  WriteOptions for_call(std::shared_ptr<Raised> raised) const;
};

// The result of depute.worker_backend(): a compiler that has the worker in addition to the built-in backends,
// and so owns its process.
struct WorkerHandle {
  std::shared_ptr<const Compiler> compiler;
  std::string name;
  std::string program;
  WorkerOptions options;

  const BackendEntry& entry() const { return *compiler->registry().find(name); }
};
// Returns a registry entry that forwards to the worker.
BackendEntry entry_of(const WorkerHandle& worker);

void bind_data(nb::module_& module);
void bind_program(nb::module_& module);
void bind_etrecord(nb::module_& module);
void bind_exported(nb::module_& module);
void bind_verify(nb::module_& module);
void bind_bundle(nb::module_& module);
void bind_backend(nb::module_& module);
void bind_compiler(nb::module_& module);
void bind_report(nb::module_& module);
void bind_ledger(nb::module_& module);
void bind_worker(nb::module_& module);

}  // namespace depute::python
