// Two lowerings compared: which nodes moved between delegates and ExecuTorch's kernels and why, and what
// became of bytes, planned memory, instructions, payloads and weights.
//
//   LoweringDiff diff = compare(before, after);      // lowering_facts.h
//   print(diff_text(diff));                          // or diff_json(), diff_html()
//   return diff.is_same() ? 0 : 3;
//
// Nodes belong together when method, graph, name, op and line agree; of those that are left then, when op and
// line do, in their order; then when name and op do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/lowering_facts.h"

namespace depute {

// A number of both lowerings: "delegates", "bytes of the file", "memory of forward".
struct DiffFigure {
  std::string name;
  double before = 0;
  double after = 0;
  bool is_percent = false;

  bool is_same() const { return before == after; }
};

// A node that both have.
struct DiffNode {
  NodeReport before;
  NodeReport after;
};

// Where the nodes of a delegate went, or came from: names of delegates, or owners, with numbers of nodes.
struct DiffDelegate {
  std::string name;  // of the first lowering; of the second if all its nodes were left or new
  bool is_new = false;
  std::uint64_t nodes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> parts;
};

enum class DiffChange : std::uint8_t { Changed, OnlyBefore, OnlyAfter };

struct DiffWeight {
  DiffChange change = DiffChange::Changed;
  std::string name;
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
};

// The weights of a module that differ, together.
struct DiffLayer {
  std::string name;
  std::uint64_t weights = 0;
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
};

struct DiffPayload {
  DiffChange change = DiffChange::Changed;
  std::string method;
  std::string backend_id;
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
};

struct DiffCall {
  std::string method;
  std::string callee;  // a kernel or a backend id
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

struct LoweringDiff {
  std::string before;  // names of both
  std::string after;
  std::vector<DiffFigure> figures;     // those that are equal, too
  std::vector<DiffNode> moved;         // another owner, in the order of the program
  std::vector<DiffNode> other_reason;  // left by both, for another reason
  std::vector<NodeReport> only_before;
  std::vector<NodeReport> only_after;
  std::vector<DiffDelegate> delegates;  // that have other nodes
  std::vector<DiffCall> calls;          // whose number changed
  std::vector<DiffPayload> payloads;
  std::vector<DiffWeight> weights;
  std::vector<std::string> not_compared;  // what one of them does not tell

  bool is_same() const;
};

LoweringDiff compare(const LoweringFacts& before, const LoweringFacts& after);

// `top`: lines of each part; 0: all.
std::string diff_text(const LoweringDiff& diff, std::size_t top = 20);
std::string diff_json(const LoweringDiff& diff);
std::string diff_html(const LoweringDiff& diff);  // a page that needs no other file and no network

// Modules whose weights differ, the largest first.
std::vector<DiffLayer> changed_layers(const std::vector<DiffWeight>& weights);

// Why a node is where it is now, or was not there before: what the backends that refused it said.
std::string why_moved(const DiffNode& node);
// "xnnpack", and of a node without a backend who else has it.
inline bool is_delegated(const NodeReport& node) {
  return !node.delegate.empty();
}
std::string_view name(DiffChange change);  // "changed", "only-before", "only-after"

}  // namespace depute
