// Writes the report as Markdown, for a build summary or a comment on a pull request.
#include "depute/tools/report.h"
#include "support/number_text.h"
#include "tools/document/document.h"
#include "tools/report/boundaries.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

doc::Table lock_table(const Report& report) {
  return {.noun = "change",
          .columns = {{"not as the lock says"}, {"what changed"}, {"at"}},
          .rows = doc::rows_of(report.lock_changes, [](const LockChange& change) {
            return doc::Row{{change.place, change.text, doc::code(change.source.str())}};
          })};
}

doc::Table boundaries_table(const Report& report) {
  return {.noun = "border",
          .columns = {{"over the border of"}, doc::number("tensors"), doc::number("bytes")},
          .rows = doc::rows_of(report.boundaries, [](const BoundaryReport& boundary) {
            return doc::Row{
                {doc::Text{{boundary.from, doc::Style::Code}, {" to "}, {boundary.to, doc::Style::Code}},
                 std::to_string(boundary.tensors),
                 boundary.bytes ? bytes_text(*boundary.bytes) : "of unbounded size"}};
          })};
}

doc::Table undelegated_table(const Report& report) {
  return {.noun = "kind",
          .columns = {{"left to ExecuTorch's kernels"}, doc::number("nodes"), {"why"}, {"first at"}},
          .rows = doc::rows_of(group_undelegated(report), [](const Undelegated& group) {
            return doc::Row{{doc::code(group.op), std::to_string(group.cost.nodes), group.reason,
                             doc::code(group.first_source.str())}};
          })};
}

}  // namespace

std::string report_markdown(const Report& report) {
  doc::Document document;
  document.heading(fmt::format("{}: {:.1f} % of {} in {}", report.input, report.coverage(),
                               plural(report.nodes.size(), "node"),
                               plural(report.delegates.size(), "delegate")));
  for (const std::string& line : report.unmet)
    document.line({{"Not met:", doc::Style::Strong}, {" " + line}});
  document.add(lock_table(report));
  if (!report.output.empty())
    document.line({{report.output, doc::Style::Code}, {": " + bytes_text(report.output_bytes)}});
  for (const ExternalFile& file : report.external_files)
    document.line({{"with its data in "}, {file.path, doc::Style::Code}, {": " + bytes_text(file.bytes)}});
  if (has_several_backends(report)) document.add(boundaries_table(report));
  document.add(undelegated_table(report));
  for (const RefusalReport& refusal : report.refusals)
    document.line({{"Refused:", doc::Style::Strong},
                   {fmt::format(" {}: {}", refusal.cause.where, refusal.cause.message)}});
  for (const std::string& note : report.notes) document.line(note);
  return render_markdown(document);
}

}  // namespace depute
