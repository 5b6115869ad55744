// Lock file: the partitioning of a program, to detect changes in later builds (--lock FILE).
//
//   partition xnnpack0 of forward, XnnpackBackend, 3b0c...
//     weight "fc.weight": f32[8, 4] 91d2...
//     input %x: f32[1, 4]
//     node %y: f32[1, 8] = aten.linear.default(%x, %p_fc_weight)
//     output %y
//
// Each part has a hash of its lines, so that it is found again under another name. Lines contain names of
// nodes and weights, so that changes can be reported by name. The content does not depend on machine, time,
// paths or source lines of the model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/backend/registry.h"
#include "depute/program/hash.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// "node %y: f32[1, 8] = aten.linear.default(%x, %w)". Lines with equal kind and name are matched by order.
struct LockLine {
  std::string kind = {};       // "node", "weight", "input", "output", "spec", "version"
  std::string name = {};       // subject of the line: "%y", "fc.weight"; in a body "@body %y"
  std::string text = {};       // everything behind the kind
  SourceLocation source = {};  // set for nodes of a program lowered in this process; not written
};

// A partition, or the undelegated nodes of a method.
struct LockPart {
  std::string method = {};
  std::string partition = {};   // name of the delegate; empty: undelegated nodes
  std::string backend_id = {};  // empty for undelegated nodes
  std::vector<LockLine> lines = {};
};

struct Lock {
  std::string made_by = {};  // name and version of the compiler
  // Options that affect the result, as written: "--backend xnnpack:mode=fx"
  std::vector<std::string> options = {};
  std::vector<std::string> sizes = {};  // ranges of symbols: "s0 in [1, 64]"
  std::vector<LockPart> parts = {};     // in program order; for each method, partitions first
};

// Makes the lock of a lowered program. Reads the bytes of all constants. Includes the backends' versions from
// `registry`.
DEPUTE_API Lock make_lock(const Program& lowered, const Registry& registry, std::string made_by,
                          std::vector<std::string> options);

DEPUTE_API std::string lock_text(const Lock& lock);
// Parses a lock file; `name` is its name in messages. Fails for text that lock_text() has not written or that
// was edited.
DEPUTE_API Result<Lock> parse_lock(std::string_view text, std::string_view name);

// One difference between two locks.
struct DEPUTE_API LockChange {
  std::string place = {};  // "forward, xnnpack0, %y"; empty: the whole program
  std::string text = {};   // "went to ExecuTorch's kernels"
  SourceLocation source = {};
  std::string str() const;  // "forward, xnnpack0, %y: went to ExecuTorch's kernels (model.py:7)"
};

// Returns the differences; empty for equal locks. Partitions are matched by content, so a new number is no
// difference.
DEPUTE_API std::vector<LockChange> lock_changes(const Lock& before, const Lock& now);

}  // namespace depute
