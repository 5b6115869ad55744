// Data of the HTML page beyond the report: the graph with its values and costs, planned memory, the output's
// bytes, and effects of other options.
//
//   %y: f32[1, 4] = aten.mm.default(%x, %w)     inputs {x}, types {"f32[1, 4]"}, 64 MACs,
//                                               64 bytes of constants
//
// Nodes are numbered as in Report::nodes. page_json.cpp writes these data for the page's scripts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "depute/program/program.h"
#include "depute/tools/byte_ledger.h"
#include "depute/tools/report.h"
#include "plan/plan.h"

namespace depute {

// A value that a node uses: a result of a node, or an input of its graph, which has the number -1 - input.
struct PageValue {
  std::int64_t node = 0;
  std::uint32_t result = 0;
};

struct PageNode {
  std::vector<PageValue> inputs;     // without constants and duplicates
  std::vector<std::uint32_t> types;  // types of its results: indices in PageFacts::types
  std::uint64_t macs = 0;            // multiply-accumulates at the largest sizes
  std::uint64_t constant_bytes = 0;  // bytes of the constants that it uses
  std::string quantization;          // arguments of a quantize or dequantize node
};

struct PageInput {
  Name name;
  std::uint32_t type = 0;
  bool is_constant = false;
};

struct PageGraph {
  Name method;
  Name graph;  // as in NodeReport
  std::size_t first_node = 0;
  std::size_t node_count = 0;
  std::vector<PageInput> inputs;
  std::vector<PageValue> outputs;
};

// A tensor in planned memory.
struct PageBlock {
  std::uint32_t first = 0;  // first instruction that uses it
  std::uint32_t last = 0;
  std::uint32_t memory = 0;  // arena
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string type;
};

struct PageMemory {
  std::string method;
  std::vector<std::uint64_t> sizes;  // bytes of arenas, starting with arena 1 as in the runtime
  std::vector<PlanBank> banks;       // empty without memory banks
  std::vector<PageBlock> blocks;
  // By instruction: the node that it executes, or -1 - delegate (index in Report::delegates), or nullopt.
  std::vector<std::optional<std::int64_t>> instructions;
};

// Counts that show the quality of a plan.
struct PageCounts {
  std::uint64_t delegates = 0;
  std::uint64_t delegated = 0;  // delegated nodes
  std::uint64_t nodes = 0;
  std::uint64_t macs = 0;                    // of the delegated nodes with bounded sizes
  std::optional<std::uint64_t> memory = {};  // planned bytes, if they were requested and are known
  bool operator==(const PageCounts&) const = default;
};

// A suggested change, and the counts after planning with it.
struct Advice {
  std::string what;         // "set layer_norm=true"
  std::string flags;        // complete options for the backends; empty if the model has to change
  std::string note;         // a disadvantage; may be empty
  std::string effect = {};  // effect beyond the counts: "planned memory 142.1 MB -> 2.1 MB"
  Name op;                  // the op in question; may be empty
  std::string source;
  std::uint64_t concerned = 0;  // number of nodes concerned
  PageCounts after;
  std::uint64_t saved = 0;  // saved bytes of planned memory
};

struct PageFacts {
  std::vector<std::string> types;  // "f32[1, s0]"
  // Bytes of each type at its largest sizes; nullopt if a size has no bound.
  std::vector<std::optional<std::uint64_t>> type_bytes;
  std::vector<PageGraph> graphs;
  std::vector<PageNode> nodes;
  std::vector<PageMemory> memory;             // methods sorted by name
  std::vector<LedgerEntry> ledger;            // of the output, largest first
  std::uint64_t ledger_rest = 0;              // bytes of entries that are not listed
  std::optional<std::vector<Advice>> advice;  // most useful first; nullopt if nothing was planned again
  bool is_advice_left_out = false;            // the program is too large to plan again
};

// `normalized` is the program for which make_report() made the report.
PageFacts page_facts(const Program& normalized);
PageCounts counts_of(const Report& report);
// Add data about the planned memory and the output.
void add_memory(PageFacts& facts, const Report& report, const Program& lowered, const Plan& plan);
void add_ledger(PageFacts& facts, ByteLedger ledger);

}  // namespace depute
