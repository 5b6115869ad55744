// Reports and delegation info, with the names that depute/report.py uses.
#include "depute/tools/report.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bind.h"
#include "depute/program/inspect.h"

namespace depute::python {

void bind_report(nb::module_& module) {
  using WithoutGil = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Report>(module, "Report", "The report of a lowered program.")
      .def(
          "summary", [](const Report& self, bool verbose) { return summary_text(self, verbose); },
          nb::arg("verbose"), WithoutGil())
      .def(
          "explain",
          [](const Report& self, const std::string& node) { return explain_text(self, {.node = node}); },
          WithoutGil())
      .def("json", &report_json, WithoutGil())
      .def("html", &report_html, WithoutGil())
      .def("delegated_nodes", &Report::delegated_nodes)
      .def("non_delegated_nodes", &Report::non_delegated_nodes)
      .def("coverage", &Report::coverage);
  module.def(
      "delegation_info",
      [](const ProgramHandle& handle) {
        DelegationInfo info = get_delegation_info(*handle.program);
        return std::make_tuple(info.delegated_subgraphs, info.delegated_nodes, info.non_delegated_nodes,
                               info.ops);
      },
      WithoutGil());
}

}  // namespace depute::python
