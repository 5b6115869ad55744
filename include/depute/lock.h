// What was decided for a program, kept to hold later builds to it: --lock FILE.
//
//   partition xnnpack0 of forward, XnnpackBackend, 3b0c...
//     weight "fc.weight": f32[8, 4] 91d2...
//     input %x: f32[1, 4]
//     node %y: f32[1, 8] = aten.linear.default(%x, %p_fc_weight)
//     output %y
//
// A part has the hash of its lines, so that it is found again under another name; lines have the names of
// nodes and weights, so that what changed is told by them. Nothing in it depends on the machine, the time,
// the paths or the lines of the model's source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "depute/hash.h"
#include "depute/program.h"
#include "depute/registry.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

// "node %y: f32[1, 8] = aten.linear.default(%x, %w)". What is there several times is told apart by its order.
struct LockLine {
  std::string kind = {};       // "node", "weight", "input", "output", "spec", "version"
  std::string name = {};       // what it is about: "%y", "fc.weight"; in a body "@body %y"
  std::string text = {};       // all behind the kind
  SourceLocation source = {};  // of a node of a program that was just lowered; not written
};

// A partition, or what no backend took of a method.
struct LockPart {
  std::string method = {};
  std::string partition = {};   // the delegate's name; empty: what was left
  std::string backend_id = {};  // of a partition
  std::vector<LockLine> lines = {};
};

struct Lock {
  std::string made_by = {};               // the compiler and its version
  std::vector<std::string> options = {};  // that decide, as they were written: "--backend xnnpack:mode=fx"
  std::vector<std::string> sizes = {};    // ranges of symbols: "s0 in [1, 64]"
  std::vector<LockPart> parts = {};       // in the program's order, of each method the partitions first
};

// Of a lowered program. Reads the bytes of all its constants. The registry's backends tell their versions.
Lock make_lock(const Program& lowered, const Registry& registry, std::string made_by,
               std::vector<std::string> options);

std::string lock_text(const Lock& lock);
// `name` is the file's, for messages. Refuses one that lock_text() has not written, or that was edited since.
Result<Lock> parse_lock(std::string_view text, std::string_view name);

// A difference in words.
struct LockChange {
  std::string place = {};  // "forward, xnnpack0, %y"; empty: of the whole program
  std::string text = {};   // "went to ExecuTorch's kernels"
  SourceLocation source = {};
  std::string str() const;  // "forward, xnnpack0, %y: went to ExecuTorch's kernels (model.py:7)"
};

// What is not as it was; empty for equal locks. Partitions are found again by what is in them: a new number
// is no change.
std::vector<LockChange> lock_changes(const Lock& before, const Lock& now);

}  // namespace depute

#pragma GCC visibility pop
