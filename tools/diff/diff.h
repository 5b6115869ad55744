// Compares two lowerings: which nodes moved between delegates and ExecuTorch's kernels and why, and changes
// of bytes, planned memory, instructions, payloads and weights.
//
//   LoweringDiff diff = compare(before, after);      // lowering_facts.h
//   print(diff_text(diff));                          // or diff_json(), diff_html()
//   return diff.is_same() ? 0 : 3;
//
// Nodes are paired if method, graph, name, op and line agree. The remaining nodes are paired in order by op
// and line, then by name and op.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/report/lowering_facts.h"

namespace depute {

// A number of both lowerings, such as "delegates", "bytes of the file" or "memory of forward".
struct DiffFigure {
  std::string name;
  double before = 0;
  double after = 0;
  bool is_percent = false;

  bool is_same() const { return before == after; }
};

// A node that is in both lowerings.
struct DiffNode {
  NodeReport before;
  NodeReport after;
};

// The places where a delegate's nodes went or came from: names of delegates or owners, with node counts.
struct DiffDelegate {
  std::string name;  // its name before, or after if it is new
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

// The changed weights of one module.
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
  std::string before;  // names of the two lowerings
  std::string after;
  std::vector<DiffFigure> figures;     // including equal ones
  std::vector<DiffNode> moved;         // nodes with another owner, in program order
  std::vector<DiffNode> other_reason;  // undelegated in both, for different reasons
  std::vector<NodeReport> only_before;
  std::vector<NodeReport> only_after;
  std::vector<DiffDelegate> delegates;  // delegates with other nodes
  std::vector<DiffCall> calls;          // calls whose number changed
  std::vector<DiffPayload> payloads;
  std::vector<DiffWeight> weights;
  std::vector<std::string> not_compared;  // data that one of the two lacks
  NameScope names = {};                   // keeps the names above

  bool is_same() const;
};

LoweringDiff compare(const LoweringFacts& before, const LoweringFacts& after);

// `top` is the number of lines per part; 0 means all.
std::string diff_text(const LoweringDiff& diff, std::size_t top = 20);
std::string diff_json(const LoweringDiff& diff);
std::string diff_html(const LoweringDiff& diff);  // self-contained; works offline

// Modules whose weights differ, largest first.
std::vector<DiffLayer> changed_layers(const std::vector<DiffWeight>& weights);

// Explains a move: the reasons of the backends that refuse the node now, or refused it before.
std::string why_moved(const DiffNode& node);
// True if a delegate has the node.
inline bool is_delegated(const NodeReport& node) {
  return !node.delegate.empty();
}
std::string_view name(DiffChange change);  // "changed", "only-before", "only-after"

}  // namespace depute
