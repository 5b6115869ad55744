// Functions for depute.verify: the reference kernels, comparison of outputs, and the search of a fault.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind_data.h"
#include "depute/program/interpret.h"
#include "depute/program/text.h"
#include "depute/tools/verify.h"

namespace depute::python {
namespace {

RuntimeValue content_of(nb::handle object) {
  if (object.is_none()) return {};
  if (nb::isinstance<Constant>(object)) return nb::cast<const Constant&>(object).data;
  if (PyBool_Check(object.ptr())) return nb::cast<bool>(object);
  if (PyLong_Check(object.ptr())) return nb::cast<std::int64_t>(object);
  return nb::cast<double>(object);
}

}  // namespace

std::vector<RuntimeValue> contents_of(const nb::list& objects) {
  std::vector<RuntimeValue> contents;
  for (nb::handle object : objects) contents.push_back(content_of(object));
  return contents;
}

namespace {

nb::object object_of(const RuntimeValue& content, const std::string& name) {
  if (const auto* data = std::get_if<TensorData>(&content)) return nb::cast(Constant{name, *data});
  if (const auto* truth = std::get_if<bool>(&content)) return nb::bool_(*truth);
  if (const auto* number = std::get_if<std::int64_t>(&content)) return nb::int_(*number);
  if (const auto* real = std::get_if<double>(&content)) return nb::float_(*real);
  return nb::none();
}

nb::list list_of(std::span<const RuntimeValue> contents, const std::string& name) {
  nb::list list;
  for (const RuntimeValue& content : contents) list.append(object_of(content, name));
  return list;
}

// Returns the values of the user outputs.
nb::list interpreted(const ProgramHandle& handle, const std::string& name, const nb::list& inputs) {
  const std::vector<RuntimeValue> contents = contents_of(inputs);
  Result<std::vector<RuntimeValue>> outputs = [&] {
    nb::gil_scoped_release release;
    return reference_outputs(*handle.program, name, contents);
  }();
  return list_of(take(std::move(outputs)), "output");
}

// A program of one method with its state between calls.
class Interpreter {
 public:
  explicit Interpreter(const std::string& text) : program_(take(parse_program(text, "an original"))) {}

  std::size_t input_count() const {
    const auto& inputs = program_.methods.at(0)->inputs;
    return static_cast<std::size_t>(
        std::ranges::count_if(inputs, [](const InputSpec& each) { return !each.has_data(); }));
  }
  // Results without state.
  nb::list run(const nb::list& inputs) {
    const std::vector<RuntimeValue> contents = contents_of(inputs);
    Result<std::vector<RuntimeValue>> results = [&] {
      nb::gil_scoped_release release;
      return interpret(program_, *program_.methods.at(0), contents, state_);
    }();
    return list_of(take(std::move(results)), "result");
  }

 private:
  Program program_;
  ProgramState state_;
};

// name, absolute, relative, snr, gap, is right, note, text
using ErrorRow =
    std::tuple<std::string, double, double, double, std::optional<double>, bool, std::string, std::string>;

ErrorRow row_of(const OutputError& error) {
  return {error.name, error.absolute, error.relative, error.snr,
          error.gap,  error.is_right, error.note,     str(error)};
}

// `gap(expected, actual)` returns a number, or is None.
Accuracy accuracy_of(Raised& raised, double tolerance, std::optional<double> min_snr, const nb::object& gap) {
  Accuracy accuracy{.tolerance = tolerance, .min_snr = min_snr};
  if (gap.is_none()) return accuracy;
  accuracy.gap = [&](const RuntimeValue& expected, const RuntimeValue& actual) {
    return ask_python(raised, [&] {
      return nb::cast<double>(gap(object_of(expected, "expected"), object_of(actual, "actual")));
    });
  };
  return accuracy;
}

std::vector<ErrorRow> compared(const nb::list& expected, const nb::list& actual, double tolerance,
                               std::optional<double> min_snr, const nb::object& gap) {
  Raised raised;
  const Accuracy accuracy = accuracy_of(raised, tolerance, min_snr, gap);
  std::vector<ErrorRow> rows;
  for (const OutputError& error :
       take(compare_outputs(contents_of(expected), contents_of(actual), accuracy), raised))
    rows.push_back(row_of(error));
  return rows;
}

nb::tuple row_of(const Fault& fault) {
  nb::list inside;
  for (const BodyCall& call : fault.inside)
    inside.append(nb::make_tuple(call.name, call.op, call.body, call.call));
  return nb::make_tuple(fault.kind, fault.name, fault.target, fault.sources, row_of(fault.error), inside,
                        list_of(fault.inputs, "input"), list_of(fault.expected, "output"),
                        list_of(fault.actual, "output"), bytes_of(fault.pte));
}

// Returns the fault or None, and a note. `run(bytes, method, inputs)` returns outputs.
nb::tuple search_fault(const ProgramHandle& handle, const PythonOptions& given, const std::string& method,
                       const nb::list& inputs, double tolerance, std::optional<double> min_snr,
                       const nb::object& gap, const nb::object& run, std::size_t delegates,
                       std::size_t body_calls) {
  const Compiler compiler;
  const auto shared = std::make_shared<Raised>();
  Raised& raised = *shared;
  const WriteOptions options = given.for_call(shared);
  const Accuracy accuracy = accuracy_of(raised, tolerance, min_snr, gap);
  const PteRunner runner = [&](const RunnablePte& pte, const std::string& name,
                               std::span<const RuntimeValue> values) {
    return ask_python(raised, [&] {
      return contents_of(nb::cast<nb::list>(run(bytes_of(pte.bytes), name, list_of(values, "input"))));
    });
  };
  const std::vector<RuntimeValue> contents = contents_of(inputs);
  Result<FaultSearch> found = [&] {
    nb::gil_scoped_release release;
    return find_fault(compiler, *handle.program, options, method, contents, accuracy, runner,
                      {.delegates = delegates, .body_calls = body_calls});
  }();
  const FaultSearch search = take(std::move(found), raised);
  return nb::make_tuple(search.fault ? nb::object(row_of(*search.fault)) : nb::none(), search.note);
}

}  // namespace

void bind_verify(nb::module_& module) {
  module.def("interpret", &interpreted);
  nb::class_<Interpreter>(module, "Interpreter")
      .def(nb::init<const std::string&>())
      .def("input_count", &Interpreter::input_count)
      .def("run", &Interpreter::run);
  module.def("compare_outputs", &compared, nb::arg("expected"), nb::arg("actual"), nb::arg("tolerance"),
             nb::arg("min_snr").none(), nb::arg("gap").none());
  module.def("find_fault", &search_fault, nb::arg("program"), nb::arg("options"), nb::arg("method"),
             nb::arg("inputs"), nb::arg("tolerance"), nb::arg("min_snr").none(), nb::arg("gap").none(),
             nb::arg("run"), nb::arg("delegates"), nb::arg("body_calls"));
  // A constant with these bytes in row-major order.
  module.def("make_constant",
             [](const std::string& dtype, const std::vector<std::int64_t>& shape, nb::bytes bytes) {
               return Constant{"input", make_tensor_data(dtype, shape, bytes)};
             });
}

}  // namespace depute::python
