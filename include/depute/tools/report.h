// Report of a lowering: each node's owner or the reasons why it has none, the delegates, totals and times.
// Text, JSON and HTML output print the same numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/api.h"
#include "depute/compiler/compiler.h"
#include "depute/compiler/quantize.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/program.h"
#include "depute/program/result.h"
#include "depute/tools/load_memory.h"
#include "depute/tools/lock.h"
#include "depute/tools/tuned_plan.h"

namespace depute {

// One node of the normalized program.
struct NodeReport {
  Name method;
  Name graph;  // control-flow body with the node; empty: graph of the method
  Name node;
  Name op;
  SourceLocation source;
  std::uint32_t debug_handle = 0;
  // Multiply-accumulates at the maximum sizes; nullopt if a size is unbounded.
  std::optional<std::uint64_t> macs = 0;
  std::string owner;  // backend name, "portable", "no-kernel" or "refused" (Report::refusals)
  Name delegate;      // set if delegated
  // Backend name and its verdict, in the order in which the backends rejected the node.
  std::vector<std::pair<std::string, Verdict>> reasons;
};

// Reason why the program cannot be executed. Such a program can be explained, but not written.
struct RefusalReport {
  Name method;
  Name graph;  // as in NodeReport
  Name node;   // in the lowered program; empty: the cause is not a single node
  Diagnostic cause;
};

struct DelegateReport {
  Name name;
  Name method;
  std::string backend_id;
  std::uint64_t nodes = 0;
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  std::uint64_t blob_bytes = 0;
  std::uint64_t data_bytes = 0;  // bytes of named data
  // Bytes of input and output tensors per call, at the maximum sizes; nullopt if a size is unbounded.
  std::optional<std::uint64_t> boundary_bytes = 0;
  // Name of an earlier identical delegate, which the runtime loads and calls instead of this one. Empty:
  // none.
  Name repeats = {};
  std::string info = {};  // backend's own description of the blob; may be empty
};

// Data passed between two owners per call, at least one of which is a delegate. Owners are backend names,
// "portable" (kernels), "caller" (inputs and outputs) and "data" (weights and buffers).
struct BoundaryReport {
  std::string from;
  std::string to;
  std::uint64_t tensors = 0;
  std::optional<std::uint64_t> bytes = 0;  // at the maximum sizes; nullopt if a size is unbounded
};

struct StepTime {
  std::string step;
  double milliseconds = 0;
};

struct ExternalFile {
  std::string path;  // .ptd
  std::uint64_t bytes = 0;
};

// Use of one memory bank of WriteOptions::banks by one method, in bytes.
struct BankUse {
  std::string method;
  std::string bank;
  std::uint32_t memory_id = 0;
  std::uint64_t size = 0;
  std::uint64_t used = 0;     // of the arena, from its start
  std::uint64_t peak = 0;     // that are alive at one time
  std::uint64_t traffic = 0;  // that are written and read in one call
};

// Facts from the memory plan.
struct PlannedFacts {
  std::uint64_t memory = 0;          // bytes of planned memory, maximum over all methods
  std::vector<std::string> kernels;  // kernels called by instructions, sorted: "aten::add.out"
  std::vector<LoadMemory> load_memory;
  std::vector<BankUse> banks = {};
};

struct PageFacts;

struct DEPUTE_API Report {
  std::string input;
  std::string output;  // empty if no file was written
  std::uint64_t output_bytes = 0;
  // Set by compile(), shown on the HTML page: an equivalent command, the compiler's version, and the day of
  // SOURCE_DATE_EPOCH ("2026-03-01", empty if unset).
  std::string command = {};
  std::string version = {};
  std::string date = {};
  std::vector<ExternalFile> external_files;  // .ptd files that the output needs
  std::vector<NodeReport> nodes;
  std::vector<DelegateReport> delegates;
  std::vector<BoundaryReport> boundaries;  // data passed to and from delegates, in the order of their calls
  Splits splits;                           // reasons why a backend has several delegates: ReportParts::splits
  std::vector<RefusalReport> refusals;
  std::optional<PlannedFacts> planned;  // nullopt if planning failed
  QuantizeResult quantized;             // quantized layers
  std::vector<Tap> taps;                // outputs that tap values
  std::vector<StepTime> times;
  std::optional<TunedPlan> plan =
      {};          // from compile(), shown on the HTML page: what was measured to find this program
  CacheUse cache;  // cache hits and misses, with LowerOptions::cache
  std::vector<std::string> notes;  // notes for the user about the written program
  // From compile(): violated requirements; if there are any, no program is written.
  std::vector<std::string> unmet;
  // From compile(): differences from the lock file; if there are any, no program is written.
  std::vector<LockChange> lock_changes;
  // Further data for the HTML page: ReportParts::page.
  std::shared_ptr<PageFacts> page = nullptr;
  NameScope names = NameScope::current();  // keeps the names above

  std::uint64_t delegated_nodes() const;
  std::uint64_t non_delegated_nodes() const;
  double coverage() const;  // percentage of nodes that are delegated; 100 for a program without nodes
  double coverage_of(std::string_view backend) const;  // percentage delegated to one backend
  // Multiply-accumulates of undelegated nodes; nullopt if a size is unbounded.
  std::optional<std::uint64_t> non_delegated_macs() const;
  std::optional<std::uint64_t> boundary_bytes() const;  // sum over all delegates
};

// Parts of a report that take time, and are made only if somebody reads them.
struct ReportParts {
  bool splits = false;  // Report::splits
  bool page = false;    // Report::page
  bool advice =
      false;  // PageFacts::advice, by compile(): the program is partitioned again under other options
};

// Reports about a stage. Nodes are those of the normalized program, before partitioning.
DEPUTE_API Report make_report(const Edge& edge, ReportParts parts = {});
DEPUTE_API Report make_report(const Delegated& delegated, ReportParts parts = {});
DEPUTE_API Report make_report(const Executable& executable, ReportParts parts = {});
// With the written file. `registry` describes the payloads of delegates on the page.
DEPUTE_API Report make_report(const Executable& executable, const PteFile& file, const Registry& registry,
                              ReportParts parts = {});
// Calls to_executorch() and reports the result, or everything that it rejects.
DEPUTE_API Report explain(Delegated delegated, const WriteOptions& options = {}, ReportParts parts = {});

// Returns the debug map (JSON): for each instruction of the program, the source lines of the model. `name` is the
// name of the .pte.
DEPUTE_API std::string debug_map(const Executable& executable, const std::string& name = "program.pte");

DEPUTE_API std::size_t blob_bytes(const Delegate& delegate);  // 0 for a delegate without bytes

struct ExplainOptions {
  std::string node;  // show only this node; empty: all
  bool color = false;
};

struct DoctorOptions {
  std::size_t top = 10;  // lines per section; 0: all
  bool color = false;
};

// Summary that `lower` prints at the end.
DEPUTE_API std::string summary_text(const Report& report, bool verbose, bool color = false);
// One line per node, then the undelegated nodes by rejecting rule, most expensive first. Byte counts require
// ReportParts::page.
DEPUTE_API std::string explain_text(const Report& report, const ExplainOptions& options);
// Refusals, reasons and advice, each with the source lines of the model, in 80 columns. Advice requires
// ReportParts::page.
DEPUTE_API std::string doctor_text(const Report& report, const DoctorOptions& options = {});
DEPUTE_API std::string report_json(const Report& report);
// Likewise with one node alone in `nodes`. Totals are those of all nodes.
DEPUTE_API std::string explain_json(const Report& report, std::string_view node);
DEPUTE_API std::string report_html(const Report& report);
DEPUTE_API std::string report_markdown(const Report& report);  // for a pull request comment
DEPUTE_API std::string report_sarif(const Report& report);  // SARIF 2.1.0: undelegated nodes by source line
DEPUTE_API std::string report_annotations(
    const Report& report);  // undelegated nodes as GitHub workflow commands

// An output format of reports, selected by the extension of the file name.
struct ReportFormat {
  std::string_view ending;  // ".json"
  std::string (*write)(const Report& report) = nullptr;
  bool has_page_facts = false;  // shows the data of ReportParts::page
};
DEPUTE_API std::span<const ReportFormat> report_formats();
DEPUTE_API const ReportFormat* report_format(std::string_view path);  // null if no format has this extension

// --- requirements on a lowering, for CI: --require "coverage>=95%,partitions<=3"

struct Requirement {
  enum class Quantity : std::uint8_t {
    Coverage,
    Partitions,
    DelegatedNodes,
    NonDelegatedNodes,
    NonDelegatedMacs,
    BoundaryBytes,
    Memory,
    LoadMemory,
    LoadMemory32,
    FileSize,
    Sqnr,
    Kernels
  };
  enum class Relation : std::uint8_t { AtLeast, AtMost, Equal };
  Quantity quantity;
  Relation relation;
  double bound = 0;
  std::string text = {};                  // as written by the user
  std::string backend = {};               // for Coverage: the only backend that counts; empty: all
  std::string bank = {};                  // for Memory: the only bank that counts; empty: all planned memory
  std::vector<std::string> kernels = {};  // for Kernels: allowed names; * matches any text
};

// Parses requirements, separated by commas: each has a quantity, a relation (>=, <=, ==) and a bound.
//
//   coverage                 percentage of nodes that are delegated
//   coverage:BACKEND         percentage of nodes that are delegated to this backend
//   partitions, delegates    number of delegates
//   delegated                number of delegated nodes
//   non_delegated            number of undelegated nodes
//   non_delegated_macs       multiply-accumulates of undelegated nodes, at the maximum sizes
//   boundary_bytes           bytes of the tensors that enter and leave delegates, at the maximum sizes
//   memory                   bytes of planned memory of the method that needs most
//   memory:BANK              bytes of a bank of --memory that the method uses which needs most of it
//   load_memory              bytes of the runtime's allocators to load the method that needs most
//   load_memory_32           the same where addresses have 32 bits (load_memory.h)
//   file_size                bytes of the .pte file and its .ptd files
//   sqnr                     lowest signal-to-noise ratio of all quantized layers, in decibels; infinite
//                            if no layer was quantized
//   kernels<=NAMES           the program calls only these kernels; names are separated by blanks, and *
//                            matches any text
//
// Bytes may be written as 500K, 16M or 2G. A size without a bound makes a quantity infinite. Fails for other
// text.
DEPUTE_API Result<std::vector<Requirement>> parse_requirements(std::string_view text);

// Fails for a requirement on a backend that is not in `backends`.
DEPUTE_API Status check_requirements(const std::vector<Requirement>& requirements,
                                     const std::vector<std::string>& backends);

// True if the requirement can be checked only after the file is written (file size).
DEPUTE_API bool needs_file(const Requirement& requirement);

// Returns one line per violated requirement: "coverage>=95% (is 92.9%)". With `with_file` false, skips
// requirements that need the file.
DEPUTE_API std::vector<std::string> unmet(const Report& report, const std::vector<Requirement>& requirements,
                                          bool with_file = true);

// Parses a size as users write it: "4096", "500M", "20G"; K, M, G and T are powers of 1024. Returns bytes; nullopt
// for invalid text and for sizes beyond 64 bits.
DEPUTE_API std::optional<std::uint64_t> parse_byte_size(std::string_view text);

}  // namespace depute
