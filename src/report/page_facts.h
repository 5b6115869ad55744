// What the HTML page shows beside the report: the graph with its values and costs, planned memory, where the
// bytes of the output are, and what other options would change.
//
//   %y: f32[1, 4] = aten.mm.default(%x, %w)     inputs {x}, types {"f32[1, 4]"}, 64 MACs,
//                                               64 bytes of constants
//
// Nodes are numbered as in Report::nodes. page_json.cpp writes all this for the page's scripts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "depute/byte_ledger.h"
#include "depute/program.h"
#include "depute/report.h"
#include "plan/plan.h"

namespace depute {

// A value that a node uses: a result of a node, or an input of its graph, which has the number -1 - input.
struct PageValue {
  std::int64_t node = 0;
  std::uint32_t result = 0;
};

struct PageNode {
  std::vector<PageValue> inputs;     // without constants, each once
  std::vector<std::uint32_t> types;  // of its results, in PageFacts::types
  std::uint64_t macs = 0;            // multiplications with additions, at the largest sizes
  std::uint64_t constant_bytes = 0;  // of the constants that it uses
  std::string quantisation;          // of one that quantises or dequantises: what it is called with
};

struct PageInput {
  Symbol name;
  std::uint32_t type = 0;
  bool is_constant = false;
};

struct PageGraph {
  Symbol method;
  Symbol graph;  // as a node's report has it
  std::size_t first_node = 0;
  std::size_t node_count = 0;
  std::vector<PageInput> inputs;
  std::vector<PageValue> outputs;
};

// A tensor in planned memory.
struct PageBlock {
  std::uint32_t first = 0;  // instructions that use it
  std::uint32_t last = 0;
  std::uint32_t memory = 0;  // which arena
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string type;
};

struct PageMemory {
  std::string method;
  std::vector<std::uint64_t> sizes;  // of arenas, from 1 on as the runtime counts them
  std::vector<PageBlock> blocks;
  // By instruction: the node that it executes, or -1 - delegate (of Report::delegates), or none.
  std::vector<std::optional<std::int64_t>> instructions;
};

// What a plan takes of the program.
struct PageCounts {
  std::uint64_t delegates = 0;
  std::uint64_t delegated = 0;  // nodes
  std::uint64_t nodes = 0;
  std::uint64_t macs = 0;                    // of the delegated nodes that have bounded sizes
  std::optional<std::uint64_t> memory = {};  // planned bytes, where that was asked for and can be told
  bool operator==(const PageCounts&) const = default;
};

// A change, and what planning again with it gave.
struct Advice {
  std::string what;         // "set layer_norm=true"
  std::string flags;        // to give instead of the backends' now; empty: the model has to change
  std::string note;         // what speaks against it; may be empty
  std::string effect = {};  // beside the counts: "planned memory 142.1 MB -> 2.1 MB"
  Symbol op;                // that it is about; may be empty
  std::string source;
  std::uint64_t concerned = 0;  // nodes
  PageCounts after;
  std::uint64_t saved = 0;  // bytes of planned memory
};

struct PageFacts {
  std::vector<std::string> types;  // "f32[1, s0]"
  // Of each, at the largest sizes; nothing where a size has no bound.
  std::vector<std::optional<std::uint64_t>> type_bytes;
  std::vector<PageGraph> graphs;
  std::vector<PageNode> nodes;
  std::vector<PageMemory> memory;             // methods in order of name
  std::vector<LedgerEntry> ledger;            // of the output, the largest first
  std::uint64_t ledger_rest = 0;              // bytes of what is not listed
  std::optional<std::vector<Advice>> advice;  // what gains most first; none: nothing was planned again
  bool is_advice_left_out = false;            // the program is too large to be planned again
};

// Of a normalised program, for which make_report() made the report.
PageFacts page_facts(const Program& normalised);
PageCounts counts_of(const Report& report);
// Adds what was planned, or written.
void add_memory(PageFacts& facts, const Report& report, const Program& lowered, const Plan& plan);
void add_ledger(PageFacts& facts, ByteLedger ledger);

}  // namespace depute
