// What happened to a program: every node's owner or the reasons it has none, the delegates, totals and times.
// The text, JSON and HTML forms all print these same numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/lock.h"
#include "depute/program.h"
#include "depute/quantise.h"
#include "depute/to_backend.h"

#pragma GCC visibility push(default)

namespace depute {

// One node of the normalised program.
struct NodeReport {
  Symbol method;
  Symbol graph;  // the control-flow body it lies in; empty: the method's own graph
  Symbol node;
  Symbol op;
  SourceLocation source;
  std::uint32_t debug_handle = 0;
  // Multiplications with additions, at the largest sizes; nothing where a size has no bound.
  std::optional<std::uint64_t> macs = 0;
  std::string owner;  // backend name, "portable", "no-kernel" or "refused" (see add_refusals)
  Symbol delegate;    // when delegated
  std::vector<std::pair<std::string, Verdict>>
      reasons;  // refusals: backend name and its verdict, in the order asked
};

// Why the program cannot be executed: it may be explained, but not written.
struct RefusalReport {
  Symbol method;
  Symbol graph;  // as a node has it
  Symbol node;   // of the lowered program; empty: the cause is not one node
  Diagnostic cause;
};

struct DelegateReport {
  Symbol name;
  Symbol method;
  std::string backend_id;
  std::uint64_t nodes = 0;
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  std::uint64_t blob_bytes = 0;
  std::uint64_t data_bytes = 0;  // named data
  // Of the tensors that go in and come out at each call, at the largest sizes; nothing where a size has no
  // bound.
  std::optional<std::uint64_t> boundary_bytes = 0;
  // An earlier delegate that is the same to the runtime, which loads that one and calls it in this one's
  // place; empty: none.
  Symbol repeats = {};
  std::string info = {};  // the backend's own words, as what the blob was made for; may be empty
};

// What goes from one owner to another at each call where a delegate is one of the two. Owners are backends by
// name, "portable" (kernels), "caller" (inputs and outputs) and "data" (weights and buffers).
struct BoundaryReport {
  std::string from;
  std::string to;
  std::uint64_t tensors = 0;
  std::optional<std::uint64_t> bytes = 0;  // at the largest sizes; nothing where a size has no bound
};

struct StepTime {
  std::string step;
  double milliseconds = 0;
};

struct ExternalFile {
  std::string path;  // .ptd
  std::uint64_t bytes = 0;
};

// What the plan tells of a program.
struct PlannedFacts {
  std::uint64_t memory = 0;          // bytes of planned memory, of the method that needs most
  std::vector<std::string> kernels;  // that its instructions call, sorted: "aten::add.out"
};

struct PageFacts;

struct Report {
  std::string input;
  std::string output;  // empty when nothing was written
  std::uint64_t output_bytes = 0;
  // compile(): a command that lowers this way, the version of the compiler, and the day that
  // SOURCE_DATE_EPOCH names ("2026-03-01"; empty without it). The page shows them.
  std::string command = {};
  std::string version = {};
  std::string date = {};
  std::vector<ExternalFile> external_files;  // which the output needs
  std::vector<NodeReport> nodes;
  std::vector<DelegateReport> delegates;
  std::vector<BoundaryReport> boundaries;  // of the delegates, in the order of their calls
  AllApart apart;                          // why backends have several
  std::vector<RefusalReport> refusals;
  std::optional<PlannedFacts> planned;  // compile(): nothing when it cannot be planned
  QuantiseResult quantised;             // layers whose weights were made integers here
  std::vector<StepTime> times;
  CacheUse cache;                  // results of backends that were there, with LowerOptions::cache
  std::vector<std::string> notes;  // what the user should know of the program that was written
  std::vector<std::string> unmet;  // compile(): requirements that do not hold; then no program was written
  std::vector<LockChange> lock_changes;  // compile(): what is not as the lock says; then none was, either
  // What the HTML page shows beside all this: LowerOptions::tell_page_facts, add_page_facts().
  std::shared_ptr<PageFacts> page = nullptr;

  std::uint64_t delegated_nodes() const;
  std::uint64_t non_delegated_nodes() const;
  double coverage() const;  // delegated share of all nodes, in percent; 100 for a program without nodes
  double coverage_of(std::string_view backend) const;  // the same of one backend
  // Of the nodes that no backend took; nothing where a size has no bound.
  std::optional<std::uint64_t> non_delegated_macs() const;
  std::optional<std::uint64_t> boundary_bytes() const;  // of all delegates
};

// Starts the report with every node on the portable runtime.
Report make_report(const Program& normalised);
// Adds the graph and its costs, of the program that make_report() was given.
void add_page_facts(Report& report, const Program& normalised);
// Adds what one backend's lowering decided.
void add_verdicts(Report& report, std::string_view backend_name, std::span<const NodeVerdict> verdicts);
void add_apart(Report& report, AllApart apart);
void add_cache_use(Report& report, CacheUse use);
// Lists the delegates of the lowered program.
void add_delegates(Report& report, const Program& lowered);
std::size_t blob_bytes(const Delegate& delegate);  // 0 for one without bytes

struct ExplainOptions {
  std::string node;  // only this node; empty: all
  bool colour = false;
};

struct DoctorOptions {
  std::size_t top = 10;  // of each part; 0: all
  bool colour = false;
};

// What `lower` prints at its end.
std::string summary_text(const Report& report, bool verbose, bool colour = false);
// A line for each node, then what was left by the rules that refused it, what costs most first: bytes are
// there with LowerOptions::tell_page_facts.
std::string explain_text(const Report& report, const ExplainOptions& options);
// Refusals, reasons and changes, each with the model's lines, in 80 columns; advice is there with
// LowerOptions::tell_page_facts.
std::string doctor_text(const Report& report, const DoctorOptions& options = {});
std::string report_json(const Report& report);
std::string report_html(const Report& report);
std::string report_markdown(const Report& report);     // for a comment on a pull request
std::string report_sarif(const Report& report);        // SARIF 2.1.0: what was left, by source line
std::string report_annotations(const Report& report);  // the same as GitHub's workflow commands

// A form that a report is written in, told by the ending of its file.
struct ReportFormat {
  std::string_view ending;  // ".json"
  std::string (*write)(const Report& report) = nullptr;
  bool has_page_facts = false;  // shows what LowerOptions::tell_page_facts adds
};
std::span<const ReportFormat> report_formats();
const ReportFormat* report_format(std::string_view path);  // null: no form has this ending

}  // namespace depute

#pragma GCC visibility pop
