// The extension module depute._depute, which the package depute is built on. Users import the package.
#include "bind.h"

NB_MODULE(_depute, module) {
  // A daemon thread that still runs when Python ends (of Dask, a notebook, a progress bar) keeps its objects, which
  // Python never frees. nanobind would print each of them, as if the user's program were at fault.
  nanobind::set_leak_warnings(false);
  module.def("set_leak_warnings", &nanobind::set_leak_warnings, "For tests of the package.");
  module.doc() = "Bindings of the compiler's C++ API, for the package depute. Import depute instead.";
  depute::python::bind_data(module);
  depute::python::bind_program(module);
  depute::python::bind_etrecord(module);
  depute::python::bind_exported(module);
  depute::python::bind_verify(module);
  depute::python::bind_bundle(module);
  depute::python::bind_report(module);
  depute::python::bind_ledger(module);
  depute::python::bind_backend(module);
  depute::python::bind_compiler(module);
  depute::python::bind_worker(module);
}
